// The job store of a single machine: one SQLite database in WAL mode with `synchronous = FULL`.
//
// One detached actor owns the only connection that writes and checkpoints. It commits in groups
// (group_commit.hpp), each in one transaction. Readers are detached actors with connections of
// their own and never wait for the writer.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "cells/ports/job_store.hpp"
#include "src/store/group_commit.hpp"
#include "src/store/read_limits.hpp"
#include "src/store/store.hpp"
#include "src/store/write_limits.hpp"

namespace celld::store {

struct SqliteOptions {
  std::string data_directory;     ///< Created if needed; locked while open.
  std::string path = "celld.db";  ///< Of the database; relative to the data directory.
  bool compact = false;           ///< Rewrite the database without its unused pages.
  CommitOptions commits;
  std::int64_t wal_pages_max = 600;  ///< A longer write-ahead log triggers a checkpoint.
  /// A log that has grown beyond this is cut back once a checkpoint has copied all of it.
  std::int64_t wal_bytes_kept = 64 << 20;
  WriteLimits writes;
  ReadLimits reads;
  BackupOptions backup;
  /// False: the actors run on the scheduler of the actor system, for tests on virtual time.
  bool own_threads = true;
  StoreEvents events;  ///< Called on the writer's thread; each may be null.
  std::optional<std::int64_t> database_pages_max;  ///< Simulates a full disk in tests.
};

/// Counted since the store was opened; readable from any thread.
struct SqliteStats {
  std::atomic<std::uint64_t> commits{0};
  std::atomic<std::uint64_t> checkpoints{0};
};

class OpenedDatabase;

/// An open database that no other celld can open.
class SqliteStore final : public Store {
 public:
  /// Locks the data directory and the database (`lock_path`), and creates the database or brings
  /// its schema up to date. The string is an error in plain words.
  static std::variant<SqliteStore, std::string> open(const SqliteOptions& options);

  /// Hands the database to its writer. Call this once. The locks are released when the writer ends.
  cells::JobStore spawn_writer(caf::actor_system& system) override;
  /// Any number of readers may run. A reader that fails answers with an error and opens the
  /// database again at the next request.
  cells::JobReader spawn_reader(caf::actor_system& system) const override;

  /// Spawns the actor that copies the database. The copy takes space in the data directory.
  BackupMaker spawn_backup_maker(caf::actor_system& system) const override;

  std::function<StoreStatistics()> statistics() const override;

  std::array<std::uint64_t, 2> secret() const override { return secret_; }

  std::shared_ptr<const SqliteStats> stats() const { return stats_; }
  /// Of the database. The path of its write-ahead log has `-wal` appended.
  const std::string& path() const { return path_; }
  /// A file beside the database, with links resolved: the same for every celld that opens it.
  std::string lock_path(std::string_view suffix) const override {
    return real_path_ + std::string(suffix);
  }

 private:
  std::shared_ptr<OpenedDatabase> opened_;
  SqliteOptions options_;
  std::shared_ptr<SqliteStats> stats_ = std::make_shared<SqliteStats>();
  std::string path_;
  std::string real_path_;
  std::string backup_path_;
  std::array<std::uint64_t, 2> secret_{};
};

}  // namespace celld::store
