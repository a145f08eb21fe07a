#include "src/store/backup_copy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "src/store/page_checksums.hpp"
#include "src/store/sqlite_reads.hpp"

namespace celld::store {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw SqliteFailure(what + ": " + std::generic_category().message(errno));
}

/// Readable by the owner alone: SQLite keeps the permissions of an existing file.
void create(const std::string& path) {
  ::unlink(path.c_str());
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) fail("creating the copy failed");
  ::close(fd);
}

/// The copy is worthless after a crash, so it is neither synced nor journaled.
Connection open_copy(const std::string& path, std::optional<std::int64_t> pages_max) {
  create(path);
  Connection copy{path, Connection::Access::read_write};
  copy.execute("PRAGMA locking_mode = EXCLUSIVE");
  copy.execute("PRAGMA journal_mode = OFF");
  copy.execute("PRAGMA synchronous = OFF");
  if (pages_max) {
    copy.execute(("PRAGMA max_page_count = " + std::to_string(*pages_max)).c_str());
  }
  return copy;
}

/// A transaction sees the state at its first read, so the read here fixes the moment of the copy.
Connection open_source(const std::string& path) {
  Connection source = open_for_reading(path);
  source.execute("BEGIN");
  source.query_integer("SELECT count(*) FROM sqlite_master");
  return source;
}

}  // namespace

/// SQLite restarts a backup when another connection writes, unless the source is in a read
/// transaction.
struct BackupCopy::Pages {
  Pages(const std::string& source_path, const std::string& path,
        std::optional<std::int64_t> pages_max)
      : source(open_source(source_path)),
        copy(open_copy(path, pages_max)),
        backup(sqlite3_backup_init(copy.handle(), "main", source.handle(), "main"),
               sqlite3_backup_finish) {
    if (!backup) copy.fail("beginning the copy failed");
  }

  bool step(int pages) {
    const int code = sqlite3_backup_step(backup.get(), pages);
    if (code == SQLITE_OK) return false;
    if (code == SQLITE_DONE) return true;
    throw SqliteFailure("writing the copy failed: " + describe_error(code, sqlite3_errstr(code)));
  }

  Connection source;
  Connection copy;
  std::unique_ptr<sqlite3_backup, int (*)(sqlite3_backup*)> backup;
};

BackupCopy::BackupCopy(const std::string& source, std::string path, const BackupOptions& options)
    : path_(std::move(path)), options_(options) {
  try {
    pages_ = std::make_unique<Pages>(source, path_, options.pages_max);
  } catch (const SqliteFailure&) {
    ::unlink(path_.c_str());
    throw;
  }
}

BackupCopy::~BackupCopy() {
  if (pages_) ::unlink(path_.c_str());
  if (fd_ >= 0) ::close(fd_);
}

/// Leaves space for the writer.
void BackupCopy::check_space() const {
  std::error_code failed;
  const auto space = std::filesystem::space(path_, failed);
  const auto spared =
      std::min<std::uintmax_t>(options_.spared_bytes, space.capacity / options_.spared_fraction);
  if (failed || space.available >= spared) return;
  throw SqliteFailure("writing the copy failed: its file system has only " +
                      std::to_string(space.available >> 20) + " MiB left");
}

bool BackupCopy::step() {
  if (pages_) {
    check_space();
    if (pages_->step(options_.step_pages)) take_file();
    return false;
  }
  if (hashed_ < bytes_) {
    const auto piece = read_at(hashed_, options_.step_bytes);
    if (piece.empty()) throw SqliteFailure("reading the copy failed: unexpected end of file");
    hash_.add(piece);
    hashed_ += piece.size();
    return false;
  }
  if (digest_.empty()) digest_ = hash_.text();
  return true;
}

/// All pages are copied. The format versions in the header (SQLite's file format, section 1.3.3)
/// still name a write-ahead log. Version 1 names a rollback journal instead, so that the copy needs
/// no other file and opens on read-only media.
void BackupCopy::take_file() {
  const auto page_bytes =
      static_cast<std::size_t>(pages_->source.query_integer("PRAGMA page_size"));
  pages_.reset();
  fd_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  ::unlink(path_.c_str());
  if (fd_ < 0) fail("opening the copy failed");
  struct stat status{};
  if (::fstat(fd_, &status) != 0) fail("reading the size of the copy failed");
  bytes_ = static_cast<std::uint64_t>(status.st_size);
  std::vector<unsigned char> page(page_bytes);
  const auto size = static_cast<ssize_t>(page_bytes);
  if (::pread(fd_, page.data(), page_bytes, 0) != size) fail("reading the copy failed");
  page[18] = page[19] = 1;
  set_page_checksum(page.data(), page_bytes, 1);
  if (::pwrite(fd_, page.data(), page_bytes, 0) != size) fail("completing the copy failed");
}

std::string BackupCopy::read(std::size_t bytes_max) {
  auto piece = read_at(read_, bytes_max);
  read_ += piece.size();
  return piece;
}

std::string BackupCopy::read_at(std::uint64_t offset, std::size_t bytes_max) {
  std::string piece(bytes_max, '\0');
  std::size_t size = 0;
  while (size < bytes_max) {
    const auto got =
        ::pread(fd_, piece.data() + size, bytes_max - size, static_cast<off_t>(offset + size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("reading the copy failed");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  piece.resize(size);
  return piece;
}

}  // namespace celld::store
