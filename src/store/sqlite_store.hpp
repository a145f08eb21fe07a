// The job store of a single machine: one SQLite database in WAL mode with `synchronous = FULL`.
//
// One detached actor owns the only connection that writes and checkpoints, and commits in groups:
// the first operation of a batch makes it send itself a CommitBatch, which lands behind everything
// that is in its mailbox by then; one transaction, then all the answers. Readers are detached
// actors with connections of their own and never wait for it.
//
// When SQLite reports any error while writing, the store answers everything with an error from then
// on, and says so once: after a failed write nobody can know what is on disk, except by opening it
// again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "cells/ports/job_store.hpp"
#include "src/store/backup.hpp"

namespace celld::store {

/// One transaction that was committed.
struct CommitReport {
  std::size_t operations = 0;  ///< What it wrote, and reads that came meanwhile.
  std::chrono::microseconds took{};
};

struct SqliteOptions {
  std::string data_directory;               ///< Created when it is not there; locked while open.
  std::string path = "celld.db";            ///< Of the database; relative: in the data directory.
  std::size_t batch_operations_max = 4096;  ///< A batch that reaches this is committed at once.
  std::size_t batch_bytes_max = 8 << 20;
  /// How long claims wait for a commit to go with before they get one of their own.
  cells::milliseconds claim_delay{5};
  std::int64_t wal_pages_max = 4000;          ///< A longer write-ahead log is checkpointed.
  std::function<void(std::string)> on_fatal;  ///< Called once, on the writer's thread.
  /// Called after each commit, before its answers, on the writer's thread; may be null.
  std::function<void(const CommitReport&)> on_commit;
  std::optional<std::int64_t> database_pages_max;  ///< Makes the database full early, in tests.
  std::optional<std::int64_t> backup_pages_max;    ///< The same for copies of it.
};

/// Counted since the store was opened; readable from any thread.
struct SqliteStats {
  std::atomic<std::uint64_t> commits{0};
  std::atomic<std::uint64_t> checkpoints{0};
};

class OpenedDatabase;

/// An open database that no other celld can open.
class SqliteStore {
 public:
  /// Locks the data directory, creates the database or brings its schema up to date. The string is
  /// an error, for people.
  static std::variant<SqliteStore, std::string> open(const SqliteOptions& options);

  /// Hands the database to its writer; to be called once. The lock goes when the writer ends.
  cells::JobStore spawn_writer(caf::actor_system& system);
  /// As many as wanted. A reader that cannot read answers with an error, and tries again on the
  /// next request.
  cells::JobReader spawn_reader(caf::actor_system& system) const;

  /// Copies the database, by way of a file in the data directory.
  BackupMaker spawn_backup_maker(caf::actor_system& system) const;

  std::shared_ptr<const SqliteStats> stats() const { return stats_; }
  /// Of the database; its write-ahead log is the same with `-wal` after it.
  const std::string& path() const { return path_; }

 private:
  std::shared_ptr<OpenedDatabase> opened_;
  std::shared_ptr<SqliteStats> stats_ = std::make_shared<SqliteStats>();
  std::string path_;
  std::string backup_path_;
  std::optional<std::int64_t> backup_pages_max_;
};

}  // namespace celld::store
