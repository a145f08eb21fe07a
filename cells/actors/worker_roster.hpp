// The workers that a dispatcher knows: which are ready, and which lease each has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cells/actors/protocol.hpp"

namespace cells {

/// Tells workers apart by the identity of their actors. Does not know how many there should be.
class WorkerRoster {
 public:
  using Id = caf::actor_id;

  /// The worker is free. True: it announced itself for the first time.
  bool announce(const JobWorker& worker) {
    ready_.insert(worker->id());
    return workers_.try_emplace(worker->id(), Entry{worker, {}, false}).second;
  }

  /// The worker is about to leave: it is no longer ready, and counts as leaving instead of busy.
  void withdraw(const JobWorker& worker) {
    ready_.erase(worker->id());
    if (Entry* entry = find(worker->id())) entry->leaving = true;
  }

  /// Takes up to `count` ready workers off the list, the newest first.
  std::vector<JobWorker> withdraw_idle(std::uint32_t count) {
    std::vector<JobWorker> idle;
    while (!ready_.empty() && idle.size() < count) {
      const auto newest = std::prev(ready_.end());
      idle.push_back(workers_.at(*newest).handle);
      ready_.erase(newest);
    }
    return idle;
  }

  /// Gives this lease to a ready worker; there must be one.
  const JobWorker& assign(const Lease& lease) {
    Entry& entry = workers_.at(*ready_.begin());
    ready_.erase(ready_.begin());
    entry.lease = lease;
    return entry.handle;
  }

  /// The worker no longer has a job; does nothing if the worker is gone.
  void release(Id worker) {
    if (Entry* entry = find(worker)) entry->lease = {};
  }

  /// The worker is gone. Returns the lease that it had, if any.
  std::optional<Lease> remove(Id worker) {
    ready_.erase(worker);
    const auto found = workers_.find(worker);
    if (found == workers_.end()) return std::nullopt;
    const Lease lease = found->second.lease;
    workers_.erase(found);
    return lease ? std::optional{lease} : std::nullopt;
  }

  /// Null if the worker is gone.
  const JobWorker* handle(Id worker) {
    Entry* entry = find(worker);
    return entry ? &entry->handle : nullptr;
  }

  bool any_ready() const { return !ready_.empty(); }
  std::size_t ready() const { return ready_.size(); }

  /// The number of workers that have a job and then leave or stay, as `leaving` says.
  std::size_t with_job(bool leaving) const {
    std::size_t count = 0;
    for (const auto& [id, worker] : workers_) {
      if (worker.lease && worker.leaving == leaving) count += 1;
    }
    return count;
  }

  void clear() {
    ready_.clear();
    workers_.clear();
  }

 private:
  struct Entry {
    JobWorker handle;
    Lease lease;           ///< Of the job in hand, if any.
    bool leaving = false;  ///< Has withdrawn, and leaves after the job in hand.
  };

  Entry* find(Id worker) {
    const auto found = workers_.find(worker);
    return found == workers_.end() ? nullptr : &found->second;
  }

  std::map<Id, Entry> workers_;
  std::set<Id> ready_;
};

}  // namespace cells
