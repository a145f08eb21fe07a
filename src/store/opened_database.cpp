#include "src/store/opened_database.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/store/page_checksums.hpp"
#include "src/store/schema.hpp"
#include "src/store/wal_check.hpp"

namespace celld::store {
namespace {

/// A reader that finds the index of the write-ahead log half-written takes the writer's lock for a
/// moment, to check whether the index is damaged. If the lock stays taken for longer than this,
/// another process is writing.
constexpr int busy_timeout_ms = 5000;

/// A second celld could start where a lock file was removed.
constexpr std::chrono::seconds lock_check_interval{1};

/// SQLite's memory statistics cost a lock for each allocation. This has no effect once another part
/// of the process has initialised SQLite.
void disable_memory_statistics() {
  static const int once = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(once);
}

/// While it exists, SQLite's temporary files, of sorting and of VACUUM, are in the directory of the
/// database: another file system may lack the space. Not for two threads at a time.
class TemporaryFilesBeside {
 public:
  explicit TemporaryFilesBeside(const std::string& path) {
    const auto directory = std::filesystem::absolute(path).parent_path().string();
    sqlite3_temp_directory = sqlite3_mprintf("%s", directory.c_str());
  }
  ~TemporaryFilesBeside() { sqlite3_free(std::exchange(sqlite3_temp_directory, nullptr)); }
  TemporaryFilesBeside(const TemporaryFilesBeside&) = delete;
  TemporaryFilesBeside& operator=(const TemporaryFilesBeside&) = delete;
};

void bring_up_to_date(Connection& connection, const std::string& path) {
  if (!holds_older_schema(connection)) return migrate(connection);
  const TemporaryFilesBeside beside{path};
  migrate(connection);
}

/// Rewrites the database, without unused pages and with a checksum in each page.
void rewrite(Connection& connection, const std::string& path) {
  const TemporaryFilesBeside beside{path};
  connection.execute("VACUUM");
  connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

/// SQLite keeps the log beside the real file.
std::string real_path_of(const std::string& path) {
  std::error_code failed;
  auto real_path = std::filesystem::weakly_canonical(path, failed).string();
  return failed ? path : real_path;
}

bool is_empty(const std::string& path) {
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(path, failed);
  return failed || bytes == 0;
}

/// Throws SqliteFailure if one of the files exists and this user may not write to it, which SQLite
/// would tell only once it writes.
void check_writable(const std::string& path) {
  for (const auto& file : {path, path + "-wal"}) {
    if (::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) == 0 || errno == ENOENT) continue;
    throw SqliteFailure("celld cannot write to " + file + ": " +
                        std::generic_category().message(errno));
  }
}

/// Throws SqliteFailure if SQLite would drop commits of the write-ahead log without an error. It
/// also drops a log whose database is missing or empty.
void check_log(const std::string& path) {
  const auto log = path + "-wal";
  if (is_empty(path) && !is_empty(log)) {
    throw SqliteFailure("it is missing or empty, but " + log +
                        " is not empty: restore both files, or move the log away");
  }
  if (lost_commits(path))
    throw SqliteFailure("the database is damaged: commits in " + log + " cannot be read");
}

Connection open_for_writing(const std::string& path, const SqliteOptions& options) {
  disable_memory_statistics();
  check_writable(real_path_of(path));
  check_log(real_path_of(path));
  Connection connection{path, Connection::Access::read_write};
  sqlite3_busy_timeout(connection.handle(), busy_timeout_ms);
  if (connection.query_text("PRAGMA journal_mode = WAL") != "wal") {
    throw SqliteFailure("its file system does not support a write-ahead log");
  }
  connection.execute("PRAGMA synchronous = FULL");
  connection.execute("PRAGMA mmap_size = 0");
  connection.execute("PRAGMA cache_size = -16384");
  const auto bytes_kept = std::to_string(options.wal_bytes_kept);
  connection.execute(("PRAGMA journal_size_limit = " + bytes_kept).c_str());
  bring_up_to_date(connection, path);
  if (options.compact || !has_page_checksums(connection.handle())) rewrite(connection, path);
  connection.execute("PRAGMA temp_store = MEMORY");
  if (options.database_pages_max) {
    const auto pages = std::to_string(*options.database_pages_max);
    connection.execute(("PRAGMA max_page_count = " + pages).c_str());
  }
  return connection;
}

}  // namespace

OpenedDatabase::OpenedDatabase(const SqliteOptions& options, const std::string& path,
                               DatabaseLocks locks, std::shared_ptr<SqliteStats> stats)
    : options_(options),
      path_(path),
      stats_(std::move(stats)),
      locks_(std::move(locks)),
      connection_(open_for_writing(path, options)),
      jobs_(connection_, options.writes),
      files_({real_path_of(path), real_path_of(path) + "-wal"}),
      lock_files_({locks_.directory.path(), locks_.database.path()}) {
  sqlite3_wal_hook(connection_.handle(), note_wal_pages, &wal_pages_);
}

std::array<std::uint64_t, 2> OpenedDatabase::secret() {
  const auto number = [this](const char* query) {
    return static_cast<std::uint64_t>(connection_.query_integer(query));
  };
  return {number("SELECT value FROM settings WHERE name = 'secret_1'"),
          number("SELECT value FROM settings WHERE name = 'secret_2'")};
}

void OpenedDatabase::commit(std::size_t operations) {
  const auto begun = std::chrono::steady_clock::now();
  jobs_.commit();
  check_names(begun);
  ++stats_->commits;
  if (!options_.events.on_commit) return;
  const auto took = std::chrono::steady_clock::now() - begun;
  options_.events.on_commit(
      {operations, std::chrono::duration_cast<std::chrono::microseconds>(took)});
}

void OpenedDatabase::check_names(std::chrono::steady_clock::time_point now) {
  auto lost = files_.first_lost();
  if (lost.empty() && now >= locks_checked_ + lock_check_interval) {
    locks_checked_ = now;
    lost = lock_files_.first_lost();
  }
  if (!lost.empty())
    throw SqliteFailure(lost + " was removed or replaced while celld was using it");
}

// SQLite's automatic checkpoints are not used because they do not report errors.
void OpenedDatabase::checkpoint_when_long() {
  if (wal_pages_ < options_.wal_pages_max) return;
  const int code = sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr,
                                             SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  ++stats_->checkpoints;
  wal_pages_ = 0;
  if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY) connection_.fail("the checkpoint failed");
}

int OpenedDatabase::note_wal_pages(void* to, sqlite3*, const char*, int pages) {
  *static_cast<std::int64_t*>(to) = pages;
  return SQLITE_OK;
}

}  // namespace celld::store
