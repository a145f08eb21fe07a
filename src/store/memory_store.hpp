// The job store without a disk, for tests and the simulation: commits like the SQLite one, loses at
// a crash what was not committed, and fails when told to. It asks no clock but the actor system's,
// and its answers depend on nothing but the order of its messages.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "cells/ports/job_store.hpp"
#include "src/store/memory_jobs.hpp"

namespace celld::store {

/// What survives a crash. Outlives actor systems; belongs to one of them at a time, and has at most
/// one store in it. Everything public is for whoever looks on while that system is at rest.
class MemoryDisk {
 public:
  /// Called for every committed change of a job, in order; `before` is null for a new job. A job
  /// that changed several times within one commit is told of each.
  std::function<void(const cells::JobPtr& before, const cells::Job& after)> on_commit;
  /// The same for a job that was removed, as it stood.
  std::function<void(const cells::Job& job)> on_prune;

  /// Every committed job, by id.
  const std::map<cells::JobId, StoredJob>& jobs() const { return content_.jobs; }
  const StoreContent& content() const { return content_; }
  /// How many commits there were, ever.
  std::uint64_t commits() const { return commits_; }

  /// For the store actor: makes the working state the committed one.
  void commit(MemoryJobs& working);

  /// For the reader actor.
  cells::JobFound read(const cells::FindJob& request) const;
  cells::JobsListed read(const cells::ListJobs& request) const;
  cells::OldestQueued read(const cells::FindOldestQueued& request) const;

 private:
  mutable std::mutex mutex_;  ///< The store and the reader may be on two threads.
  StoreContent content_;
  std::map<cells::CellKey, std::set<cells::JobId>> queued_places_;
  std::uint64_t commits_ = 0;
};

struct MemoryStoreOptions {
  /// How long a commit waits for more operations; asked when its first one arrives. Zero (or no
  /// function): only for those that are in the mailbox then.
  std::function<cells::microseconds()> commit_delay;
  /// Asked at each commit. True: it fails, and with it everything that is or will be asked.
  std::function<bool()> fail_commit;
  /// Called once, when a commit has failed.
  std::function<void(std::string)> on_fatal;
  /// Asked when a commit fails. True: it reached the disk all the same, which nobody is told.
  std::function<bool()> failed_commit_lands{};
};

/// A crash is an exit_reason::kill to the store: what was not committed is lost. Its actor system
/// would wait for it for ever otherwise, as long as answers are waiting for a commit.
cells::JobStore spawn_memory_store(caf::actor_system& system, std::shared_ptr<MemoryDisk> disk,
                                   MemoryStoreOptions options = {});
cells::JobReader spawn_memory_reader(caf::actor_system& system,
                                     std::shared_ptr<const MemoryDisk> disk);

}  // namespace celld::store
