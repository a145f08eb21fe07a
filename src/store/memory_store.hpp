// The job store without a disk, for tests and the simulation. It commits in groups and delays
// claims like the SQLite store, loses in a crash what was not committed, and fails on demand. Its
// only clock is that of the actor system, and its answers depend only on the order of its messages.
// mixed_store.hpp keeps jobs in memory with its MemoryDisk, beside a real disk.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "cells/ports/job_store.hpp"
#include "src/store/group_commit.hpp"
#include "src/store/memory_jobs.hpp"
#include "src/store/read_limits.hpp"

namespace celld::store {

/// Committed jobs. In tests and the simulation they survive a simulated crash of celld. A
/// MemoryDisk outlives actor systems; one system uses it at a time, with at most one store. Unless
/// stated otherwise, call the public members only while that system is at rest.
class MemoryDisk {
 public:
  explicit MemoryDisk(StoreContent content = {}, const ReadLimits& limits = {});

  /// Called for every committed change of a job, in order, including each of several changes within
  /// one commit. `before` is null for a new job.
  std::function<void(const cells::JobPtr& before, const cells::Job& after)> on_commit;
  /// Called for every removed job with its last version.
  std::function<void(const cells::Job& job)> on_prune;

  /// Every committed job.
  const std::map<cells::JobId, StoredJob>& jobs() const { return content_.jobs; }
  const StoreContent& content() const { return content_; }
  std::uint64_t commits() const { return commits_; }

  /// A copy of `content`, also while the store is in use.
  StoreContent snapshot() const;
  /// Begins with this content instead of none. Only before the first store.
  void fill(StoreContent content);

  /// For the store actor: commits the working state.
  void commit(MemoryJobs& working);

  /// For the reader actor.
  cells::JobFound read(const cells::FindJob& request) const;
  cells::JobsListed read(const cells::ListJobs& request) const;
  cells::OldestQueued read(const cells::FindOldestQueued& request) const;
  cells::BatchFound read(const cells::FindBatch& request) const;
  cells::BatchesListed read(const cells::ListBatches& request) const;
  cells::NeedsCounted read(const cells::CountNeeds& request) const;

 private:
  void note_place(const cells::JobPtr& job, bool stands);

  mutable std::mutex mutex_;  ///< The store and the reader may run on different threads.
  StoreContent content_;
  const ReadLimits limits_;
  std::map<cells::CellKey, std::set<cells::JobId>> queued_places_;
  std::uint64_t commits_ = 0;
};

struct MemoryStoreOptions {
  CommitOptions commits{.claim_delay = cells::microseconds{0}};
  /// Called at each commit. True: the commit fails, and so do all pending and later requests.
  std::function<bool()> fail_commit;
  /// Called once, after a commit failed.
  std::function<void(std::string)> on_fatal;
  /// Called when a commit fails. True: the commit reached the disk nevertheless; the senders
  /// receive an error either way.
  std::function<bool()> failed_commit_lands{};
  /// Called at each operation. True: the store fails in the middle of it, and loses the group.
  std::function<bool()> fail_operation{};
  /// Called at each CountNeeds. True: it is answered with an error, and the store goes on.
  std::function<bool()> fail_counting{};
};

/// To crash the store, send it exit_reason::kill: what was not committed is lost. Without that, the
/// actor system never ends while answers wait for a commit.
cells::JobStore spawn_memory_store(caf::actor_system& system, std::shared_ptr<MemoryDisk> disk,
                                   MemoryStoreOptions options = {});
cells::JobReader spawn_memory_reader(caf::actor_system& system,
                                     std::shared_ptr<const MemoryDisk> disk);

}  // namespace celld::store
