// The interface that every kind of store offers to the daemon.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cells/ports/job_store.hpp"
#include "src/config/config.hpp"
#include "src/help_actors.hpp"
#include "src/store/backup.hpp"

namespace celld::store {

/// Describes one commit.
struct CommitReport {
  std::size_t operations = 0;  ///< The writes in it, and the reads of the same group.
  std::chrono::microseconds took{};
};

/// What a store reports to the daemon, from any thread.
struct StoreEvents {
  /// The store cannot commit, and why, in plain words. Called at most once.
  std::function<void(std::string)> on_fatal;
  /// Called after each commit, before its answers.
  std::function<void(const CommitReport&)> on_commit;
  HelpActors help_actors{};  ///< Runs the function that answers a small commit.
};

/// The state of a store, for the metrics.
struct StoreStatistics {
  std::uint64_t checkpoints = 0;  ///< Since the start.
  /// The sizes of the store's files, by what they hold ("database", "log").
  std::vector<std::pair<std::string, std::uint64_t>> file_bytes;
  std::uint64_t job_memory_bytes = 0;         ///< What jobs in memory take.
  std::optional<std::uint64_t> free_bytes{};  ///< Of the database's file system; none: unknown.
};

struct SharedMemory;

/// An open store that no other celld can open.
class Store {
 public:
  virtual ~Store() = default;

  /// Call this once. The store is released when the writer ends.
  virtual cells::JobStore spawn_writer(caf::actor_system& system) = 0;
  /// Any number of readers may run.
  virtual cells::JobReader spawn_reader(caf::actor_system& system) const = 0;
  virtual BackupMaker spawn_backup_maker(caf::actor_system& system) const = 0;

  /// Any thread may call this function, even when the store is gone. It may read the disk.
  virtual std::function<StoreStatistics()> statistics() const = 0;

  /// Random numbers that only this store has; the same at every start.
  virtual std::array<std::uint64_t, 2> secret() const = 0;

  /// The path of a lock file: the same for every celld on this machine that opens this store.
  virtual std::string lock_path(std::string_view suffix) const = 0;
};

/// Opens the configured store, which keeps jobs in memory in `memory`. A relative path starts at
/// `data_directory`. The string is an error in plain words.
std::variant<std::unique_ptr<Store>, std::string> open_store(const config::Store& configured,
                                                             const std::string& data_directory,
                                                             StoreEvents events,
                                                             std::shared_ptr<SharedMemory> memory);

/// Rewrites the store without the space that it no longer uses, if no celld has it open. Returns an
/// error in plain words, or an empty text.
std::string compact_store(const config::Store& configured, const std::string& data_directory);

}  // namespace celld::store
