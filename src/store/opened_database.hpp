// The database as its writer owns it: locked, with the current schema, ready for transitions.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "src/store/file_lock.hpp"
#include "src/store/named_files.hpp"
#include "src/store/sqlite_jobs.hpp"
#include "src/store/sqlite_store.hpp"

namespace celld::store {

/// Two data directories may name one database by its absolute path, so the lock of the data
/// directory does not suffice.
struct DatabaseLocks {
  FileLock directory;
  FileLock database;
};

class OpenedDatabase {
 public:
  /// Throws SqliteFailure.
  OpenedDatabase(const SqliteOptions& options, const std::string& path, DatabaseLocks locks,
                 std::shared_ptr<SqliteStats> stats);
  OpenedDatabase(const OpenedDatabase&) = delete;
  OpenedDatabase& operator=(const OpenedDatabase&) = delete;

  const SqliteOptions& options() const { return options_; }
  const std::string& path() const { return path_; }
  SqliteJobs& jobs() { return jobs_; }
  std::array<std::uint64_t, 2> secret();

  /// Commits what this many operations have changed. Throws SqliteFailure, also if the database,
  /// its log or, looked at once a second, a lock file has been removed or replaced.
  void commit(std::size_t operations);
  /// Runs a checkpoint once the write-ahead log exceeds `wal_pages_max`.
  void checkpoint_when_long();

 private:
  void check_names(std::chrono::steady_clock::time_point now);
  static int note_wal_pages(void* to, sqlite3*, const char*, int pages);

  const SqliteOptions options_;
  const std::string path_;
  const std::shared_ptr<SqliteStats> stats_;
  // Declared before the connection, so that the locks are released after it is closed.
  DatabaseLocks locks_;
  Connection connection_;
  SqliteJobs jobs_;
  const NamedFiles files_;
  const NamedFiles lock_files_;
  std::chrono::steady_clock::time_point locks_checked_{};
  std::int64_t wal_pages_ = 0;
};

}  // namespace celld::store
