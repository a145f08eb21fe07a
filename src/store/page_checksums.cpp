#include "src/store/page_checksums.hpp"

#include <endian.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "src/store/joined_appends.hpp"

namespace celld::store {
namespace {

// Of SQLite's file format, section 1.3.
constexpr int header_bytes = 100;
constexpr int page_bytes_at = 16;
constexpr int reserved_bytes_at = 20;
constexpr int page_bytes_min = 512;
constexpr int page_bytes_max = 65536;

constexpr int page_checksum_bytes = 8;

/// Asks the layer whether a database has checksums.
constexpr int query_checksums = 1001;

/// Two running sums, as in SQLite's write-ahead log. They begin with the number of the page, so
/// that a page at the wrong place counts as damaged, and so does a page of zeros.
std::uint64_t checksum(const unsigned char* page, std::size_t size, std::int64_t number) {
  auto first = static_cast<std::uint32_t>(number);
  auto second = first;
  std::uint32_t words[2];
  for (std::size_t at = 0; at + page_checksum_bytes < size; at += sizeof words) {
    std::memcpy(words, page + at, sizeof words);
    first += le32toh(words[0]) + second;
    second += le32toh(words[1]) + first;
  }
  return htole64(std::uint64_t{first} << 32 | second);
}

bool has_checksum(const unsigned char* page, int size, std::int64_t number) {
  const auto expected = checksum(page, static_cast<std::size_t>(size), number);
  return std::memcmp(page + size - page_checksum_bytes, &expected, sizeof expected) == 0;
}

/// Whether the first page has a checksum, whatever its header says: a damaged header must not
/// switch the verification off.
bool first_page_has_checksum(unsigned char* page, int size) {
  const auto reserved = page[reserved_bytes_at];
  page[reserved_bytes_at] = page_checksum_bytes;
  const bool has = has_checksum(page, size, 1);
  page[reserved_bytes_at] = reserved;
  return has;
}

/// What the layer knows about an open database. Lies behind the file object of the VFS below, whose
/// methods it replaces.
struct Layer {
  sqlite3_io_methods methods{};
  const sqlite3_io_methods* below = nullptr;
  sqlite3_file* log = nullptr;  ///< The open write-ahead log of a connection that writes.
  bool has_checksums = false;
  int page_bytes = 0;  ///< 0: SQLite has no pages of the size in the header, and refuses it.

  void note_header(const unsigned char* header) {
    has_checksums = header[reserved_bytes_at] == page_checksum_bytes;
    const auto bytes = header[page_bytes_at] << 8 | header[page_bytes_at + 1] << 16;
    const bool is_valid =
        bytes >= page_bytes_min && bytes <= page_bytes_max && (bytes & (bytes - 1)) == 0;
    page_bytes = is_valid ? bytes : 0;
  }
};

sqlite3_vfs* vfs_below() {
  static sqlite3_vfs* const found = sqlite3_vfs_find(nullptr);
  return found;
}

Layer& layer_of(sqlite3_file* file) {
  return *reinterpret_cast<Layer*>(reinterpret_cast<char*>(file) + vfs_below()->szOsFile);
}

bool is_page(int amount, sqlite3_int64 offset) {
  return amount >= page_bytes_min && offset % amount == 0;
}

int read(sqlite3_file* file, void* to, int amount, sqlite3_int64 offset);

/// SQLite may read a part of a page that holds a large value.
int read_part(sqlite3_file* file, int page_bytes, void* to, int amount, sqlite3_int64 offset) {
  std::vector<unsigned char> page(static_cast<std::size_t>(page_bytes));
  const auto within = offset % page_bytes;
  const int code = read(file, page.data(), page_bytes, offset - within);
  if (code == SQLITE_OK) std::memcpy(to, page.data() + within, static_cast<std::size_t>(amount));
  return code;
}

int read(sqlite3_file* file, void* to, int amount, sqlite3_int64 offset) {
  Layer& layer = layer_of(file);
  if (layer.has_checksums && offset >= layer.page_bytes && amount < layer.page_bytes) {
    return read_part(file, layer.page_bytes, to, amount, offset);
  }
  const int code = layer.below->xRead(file, to, amount, offset);
  // Zeros replace what lies beyond the end of the file.
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
  auto* bytes = static_cast<unsigned char*>(to);
  if (code == SQLITE_OK && offset == 0 && amount >= header_bytes) layer.note_header(bytes);
  if (amount != layer.page_bytes) return code;
  const bool valid = offset == 0
                         ? first_page_has_checksum(bytes, amount) == layer.has_checksums
                         : !layer.has_checksums || has_checksum(bytes, amount, offset / amount + 1);
  return valid ? code : SQLITE_IOERR_DATA;
}

// The bytes at the end of the page belong to the layer, although SQLite's buffer is const.
int write(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
  Layer& layer = layer_of(file);
  auto* bytes = static_cast<unsigned char*>(const_cast<void*>(from));
  if (is_page(amount, offset)) {
    if (offset == 0) layer.note_header(bytes);
    if (layer.has_checksums) {
      set_page_checksum(bytes, static_cast<std::size_t>(amount), offset / amount + 1);
    }
  }
  return layer.below->xWrite(file, from, amount, offset);
}

int file_control(sqlite3_file* file, int operation, void* argument) {
  Layer& layer = layer_of(file);
  if (operation != query_checksums) return layer.below->xFileControl(file, operation, argument);
  *static_cast<bool*>(argument) = layer.has_checksums;
  return SQLITE_OK;
}

/// Called while SQLite publishes a commit in the index of the log: from here on, other connections
/// may read the commit.
void publish(sqlite3_file* file) {
  Layer& layer = layer_of(file);
  if (layer.log != nullptr) write_appends(layer.log);
  layer.below->xShmBarrier(file);
}

int open_log(const char* name, sqlite3_file* log) {
  join_appends(log, vfs_below()->szOsFile, layer_of(sqlite3_database_file_object(name)).log);
  return SQLITE_OK;
}

/// Journals, logs and temporary files have no checksums.
int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  const int code = vfs_below()->xOpen(vfs_below(), name, file, flags, flags_out);
  if (code != SQLITE_OK) return code;
  if ((flags & SQLITE_OPEN_WAL) != 0) return open_log(name, file);
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return code;
  Layer& layer = *new (&layer_of(file)) Layer;
  layer.below = file->pMethods;
  layer.methods = *layer.below;
  layer.methods.xRead = read;
  layer.methods.xWrite = write;
  layer.methods.xFileControl = file_control;
  layer.methods.xShmBarrier = publish;
  sqlite3_int64 bytes = 0;
  // The pages of a new database may be written before the first page.
  layer.has_checksums = layer.below->xFileSize(file, &bytes) == SQLITE_OK && bytes == 0;
  file->pMethods = &layer.methods;
  return SQLITE_OK;
}

sqlite3_vfs make_vfs() {
  sqlite3_vfs vfs = *vfs_below();
  vfs.zName = "celld";
  vfs.pNext = nullptr;
  vfs.szOsFile += std::max(static_cast<int>(sizeof(Layer)), joined_appends_bytes());
  vfs.xOpen = open;
  return vfs;
}

}  // namespace

const char* checksum_vfs() {
  static sqlite3_vfs vfs = make_vfs();
  static const int registered = sqlite3_vfs_register(&vfs, 0);
  static_cast<void>(registered);
  return vfs.zName;
}

void reserve_checksums(sqlite3* database) {
  int bytes = page_checksum_bytes;
  sqlite3_file_control(database, nullptr, SQLITE_FCNTL_RESERVE_BYTES, &bytes);
}

bool has_page_checksums(sqlite3* database) {
  bool has = false;
  sqlite3_file_control(database, nullptr, query_checksums, &has);
  return has;
}

void set_page_checksum(unsigned char* page, std::size_t size, std::int64_t number) {
  const auto sum = checksum(page, size, number);
  std::memcpy(page + size - page_checksum_bytes, &sum, sizeof sum);
}

}  // namespace celld::store
