// The layer between SQLite and a database file, which verifies the checksums of pages. An input is
// a database file. It is read as it is, and once more with correct checksums: whole, in parts, and
// with a bit that has changed.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sqlite3.h>

#include "src/store/page_checksums.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::Dice;
using fuzz::must;

namespace {

constexpr std::size_t header_bytes = 100;
constexpr std::size_t page_bytes_at = 16;
constexpr std::size_t reserved_bytes_at = 20;
constexpr std::size_t checksum_bytes = 8;
constexpr std::size_t pages_max = 16;

/// A database file, as SQLite opens it through the layer.
class Database {
 public:
  explicit Database(std::string_view bytes) {
    static const std::string path = (std::filesystem::temp_directory_path() /
                                     ("celld-fuzz-pages-" + std::to_string(::getpid())))
                                        .string();
    const int written = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const bool whole =
        ::write(written, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    ::close(written);
    sqlite3_vfs* const vfs = sqlite3_vfs_find(store::checksum_vfs());
    file_.resize((static_cast<std::size_t>(vfs->szOsFile) + sizeof(Block) - 1) / sizeof(Block));
    name_ = sqlite3_create_filename(path.c_str(), "", "", 0, nullptr);
    const int flags = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_READONLY;
    const int code = vfs->xOpen(vfs, name_, file(), flags, nullptr);
    ::unlink(path.c_str());
    must(whole && code == SQLITE_OK, "a file can be written and opened");
  }
  ~Database() {
    file()->pMethods->xClose(file());
    sqlite3_free_filename(name_);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Nothing: the layer refused the bytes as damaged.
  std::optional<std::string> read(std::size_t at, std::size_t size) {
    std::string bytes(size, '\0');
    const int code = file()->pMethods->xRead(file(), bytes.data(), static_cast<int>(size),
                                             static_cast<sqlite3_int64>(at));
    if (code == SQLITE_IOERR_DATA) return std::nullopt;
    must(code == SQLITE_OK || code == SQLITE_IOERR_SHORT_READ, "a file can be read");
    return bytes;
  }

 private:
  struct alignas(16) Block {
    std::array<char, 16> bytes;
  };
  sqlite3_file* file() { return reinterpret_cast<sqlite3_file*>(file_.data()); }

  std::vector<Block> file_;
  const char* name_ = nullptr;
};

/// The bytes of the file from `at` on; beyond its end, zeros.
std::string part_of(std::string_view bytes, std::size_t at, std::size_t size) {
  std::string part(bytes.substr(std::min(at, bytes.size()), size));
  part.resize(size);
  return part;
}

/// Bytes of the first page that say how the pages are to be read. SQLite reads them first.
bool is_layout(std::size_t at) {
  return (at >= page_bytes_at && at < page_bytes_at + 2) || at == reserved_bytes_at;
}

/// SQLite reads the header, then whole pages, and parts of a page that have a long value.
void check_as_it_is(std::string_view input, Dice& dice) {
  Database database(input);
  must(database.read(0, header_bytes) == part_of(input, 0, header_bytes),
       "a header is read as it is");
  for (const std::size_t page_bytes : {512, 4096}) {
    for (std::size_t at = 0; at < std::min<std::size_t>(input.size(), 4 * page_bytes);
         at += page_bytes) {
      const auto page = database.read(at, page_bytes);
      must(!page || *page == part_of(input, at, page_bytes), "what is read is what the file has");
    }
  }
  for (int i = 0; i < 4; ++i) {
    const std::size_t page = dice.roll(4) * 512;
    const std::size_t within = dice.roll(512);
    const auto part = database.read(page + within, 1 + dice.roll(512 - within));
    must(!part || *part == part_of(input, page + within, part->size()),
         "what is read is what the file has");
  }
}

/// The input with whole pages of this size, and correct checksums.
std::string database_of(std::string_view input, std::size_t page_bytes) {
  const std::size_t pages = std::clamp<std::size_t>(input.size() / page_bytes, 1, pages_max);
  std::string bytes(input);
  bytes.resize(pages * page_bytes);
  bytes[page_bytes_at] = static_cast<char>(page_bytes >> 8);
  bytes[page_bytes_at + 1] = static_cast<char>(page_bytes >> 16);
  bytes[reserved_bytes_at] = checksum_bytes;
  for (std::size_t n = 0; n < pages; ++n) {
    auto* page = reinterpret_cast<unsigned char*>(bytes.data() + n * page_bytes);
    store::set_page_checksum(page, page_bytes, static_cast<std::int64_t>(n + 1));
  }
  return bytes;
}

/// Reads every page. `wrong`: the one that is damaged.
void check_pages(const std::string& bytes, std::size_t page_bytes, std::optional<std::size_t> wrong,
                 Dice& dice) {
  Database database(bytes);
  database.read(0, header_bytes);
  for (std::size_t n = 0; n < bytes.size() / page_bytes; ++n) {
    const auto page = database.read(n * page_bytes, page_bytes);
    must(page.has_value() == (n != wrong), "a page is read if its checksum is right");
    if (page) must(*page == bytes.substr(n * page_bytes, page_bytes), "a page is what was written");
    if (n == 0) continue;
    const std::size_t within = dice.roll(page_bytes - 1);
    const std::size_t at = n * page_bytes + within;
    const auto part = database.read(at, 1 + dice.roll(page_bytes - 1 - within));
    must(part.has_value() == (n != wrong), "a part is read if the checksum of its page is right");
    if (part) must(*part == bytes.substr(at, part->size()), "a part is what was written");
  }
}

/// A header that has changed does not switch the verification off.
void check_header(std::string bytes, std::size_t page_bytes, Dice& dice) {
  bytes[reserved_bytes_at] = static_cast<char>(bytes[reserved_bytes_at] ^ (1 << dice.roll(8)));
  Database database(bytes);
  database.read(0, header_bytes);
  must(!database.read(0, page_bytes), "a changed header is found");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text_of(data, size);
  Dice dice(input);
  check_as_it_is(input, dice);
  const std::size_t page_bytes = 512 << dice.roll(4);
  std::string bytes = database_of(input, page_bytes);
  check_pages(bytes, page_bytes, std::nullopt, dice);
  check_header(bytes, page_bytes, dice);

  const std::size_t at = dice.roll(bytes.size());
  if (is_layout(at)) return 0;
  std::string changed = bytes;
  changed[at] = static_cast<char>(changed[at] ^ (1 << dice.roll(8)));
  check_pages(changed, page_bytes, at / page_bytes, dice);
  // A page that is at the place of another one.
  if (bytes.size() < 3 * page_bytes) return 0;
  bytes.replace(page_bytes, page_bytes, bytes, 2 * page_bytes, page_bytes);
  check_pages(bytes, page_bytes, 1, dice);
  return 0;
}
