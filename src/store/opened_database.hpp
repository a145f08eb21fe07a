// The database as its writer owns it: locked, of the right schema, ready for transitions.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "src/store/file_lock.hpp"
#include "src/store/sqlite_jobs.hpp"
#include "src/store/sqlite_store.hpp"

namespace celld::store {

class OpenedDatabase {
 public:
  /// Throws SqliteFailure.
  OpenedDatabase(const SqliteOptions& options, const std::string& path, FileLock lock,
                 std::shared_ptr<SqliteStats> stats);
  OpenedDatabase(const OpenedDatabase&) = delete;
  OpenedDatabase& operator=(const OpenedDatabase&) = delete;

  const SqliteOptions& options() const { return options_; }
  const std::string& path() const { return path_; }
  SqliteJobs& jobs() { return jobs_; }

  /// Commits what the transitions of so many operations have done.
  void commit(std::size_t operations);
  /// Moves pages from the log into the database when there are many.
  void checkpoint_when_long();

 private:
  static int note_wal_pages(void* to, sqlite3*, const char*, int pages);

  const SqliteOptions options_;
  const std::string path_;
  const std::shared_ptr<SqliteStats> stats_;
  // The lock is let go last: after the connection has closed.
  FileLock lock_;
  Connection connection_;
  SqliteJobs jobs_;
  std::int64_t wal_pages_ = 0;
};

}  // namespace celld::store
