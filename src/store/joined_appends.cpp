#include "src/store/joined_appends.hpp"

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace celld::store {
namespace {

/// Beyond this, appends are written before the sync. Must stay below 128 KiB: SQLite's unix VFS
/// takes the length of a write modulo that.
constexpr std::size_t kept_bytes_max = 64 << 10;

/// Lies behind the file object of the VFS below, whose methods it replaces.
struct Log {
  sqlite3_io_methods methods{};
  const sqlite3_io_methods* below = nullptr;
  std::vector<char> kept;
  sqlite3_int64 kept_at = 0;  ///< The offset of the first of them in the file.
  int failure = SQLITE_OK;    ///< Of a write that could not report it.
  sqlite3_file** reference = nullptr;
};

/// The methods of the file are the first member of its Log.
Log& log_of(sqlite3_file* file) {
  return *reinterpret_cast<Log*>(const_cast<sqlite3_io_methods*>(file->pMethods));
}
static_assert(std::is_standard_layout_v<Log>);

int write_kept(sqlite3_file* file) {
  Log& log = log_of(file);
  if (log.failure != SQLITE_OK) return std::exchange(log.failure, SQLITE_OK);
  if (log.kept.empty()) return SQLITE_OK;
  const int code =
      log.below->xWrite(file, log.kept.data(), static_cast<int>(log.kept.size()), log.kept_at);
  log.kept.clear();
  return code;
}

int write(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
  Log& log = log_of(file);
  const auto* bytes = static_cast<const char*>(from);
  const auto end = log.kept_at + static_cast<sqlite3_int64>(log.kept.size());
  const bool fits = log.kept.size() + static_cast<std::size_t>(amount) <= kept_bytes_max;
  if (log.kept.empty() || offset != end || !fits) {
    if (const int code = write_kept(file); code != SQLITE_OK) return code;
    log.kept_at = offset;
  }
  try {
    log.kept.insert(log.kept.end(), bytes, bytes + amount);
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  }
  return SQLITE_OK;
}

int read(sqlite3_file* file, void* to, int amount, sqlite3_int64 offset) {
  if (const int code = write_kept(file); code != SQLITE_OK) return code;
  return log_of(file).below->xRead(file, to, amount, offset);
}

int sync(sqlite3_file* file, int flags) {
  if (const int code = write_kept(file); code != SQLITE_OK) return code;
  return log_of(file).below->xSync(file, flags);
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (const int code = write_kept(file); code != SQLITE_OK) return code;
  return log_of(file).below->xTruncate(file, size);
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  if (const int code = write_kept(file); code != SQLITE_OK) return code;
  return log_of(file).below->xFileSize(file, size);
}

int close(sqlite3_file* file) {
  const int written = write_kept(file);
  Log& log = log_of(file);
  const auto* below = log.below;
  *log.reference = nullptr;
  log.~Log();
  const int closed = below->xClose(file);
  return written == SQLITE_OK ? closed : written;
}

}  // namespace

int joined_appends_bytes() {
  return static_cast<int>(sizeof(Log));
}

void join_appends(sqlite3_file* file, int bytes_below, sqlite3_file*& reference) {
  Log& log = *new (reinterpret_cast<char*>(file) + bytes_below) Log;
  log.reference = &reference;
  reference = file;
  log.below = file->pMethods;
  log.methods = *log.below;
  log.methods.xRead = read;
  log.methods.xWrite = write;
  log.methods.xSync = sync;
  log.methods.xTruncate = truncate;
  log.methods.xFileSize = file_size;
  log.methods.xClose = close;
  file->pMethods = &log.methods;
}

void write_appends(sqlite3_file* log) {
  log_of(log).failure = write_kept(log);
}

}  // namespace celld::store
