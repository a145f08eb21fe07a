// The leases of one dispatcher that are live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cells/model/ids.hpp"
#include "cells/model/job.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// What the dispatcher asked for when it ended an attempt early.
enum class AbortCause : std::uint8_t { none, timeout, expiry, cancel, hand_back, worker_lost };

/// One live lease: from the hand-out of a job until its attempt is known to be over. An attempt
/// whose abort was asked for keeps its lease, and so its slot and its entity, until that is
/// confirmed (promise P8).
struct LiveLease {
  JobPtr job;
  SteadyTime handed_out_at{};
  SteadyTime deadline{};  ///< The greatest: it has none before its worker begins.
  AbortCause abort = AbortCause::none;
  bool started = false;      ///< Its worker reported JobWorkStarted.
  std::uint64_t worker = 0;  ///< Who has it; 0: nobody any more.
};

/// Live leases by their name, their job and their deadline. Not thread-safe.
class LeaseTable {
 public:
  void add(const Lease& lease, LiveLease entry);

  /// Null when the lease is not live: whoever names it is too late.
  LiveLease* find(const Lease& lease);
  const LiveLease* find(const Lease& lease) const;

  /// Takes a lease out; it must be live.
  LiveLease remove(const Lease& lease);

  /// Its worker begins; unless its end was asked for, it is due at this time instead.
  void start(const Lease& lease, SteadyTime deadline);

  /// Notes that the end of the attempt was asked for; its deadline no longer counts.
  void abort(const Lease& lease, AbortCause cause);

  /// Live leases whose deadline is at or before `now` and whose abort was not asked for.
  std::vector<Lease> overdue(SteadyTime now) const;
  /// Live leases whose job's `expires_at` is at or before `now`, likewise.
  std::vector<Lease> expired(WallTime now) const;
  /// All live leases, in order.
  std::vector<Lease> all() const;

  std::optional<SteadyTime> next_deadline() const;
  std::optional<WallTime> next_expiry() const;

  bool has_job(JobId job) const { return jobs_.contains(job); }
  /// The live lease of a job, if it has one.
  std::optional<Lease> lease_of(JobId job) const;
  std::size_t size() const { return leases_.size(); }

 private:
  std::map<Lease, LiveLease> leases_;
  std::map<JobId, Lease> jobs_;
  std::set<std::pair<SteadyTime, Lease>> deadlines_;  ///< Of leases not being aborted.
  std::set<std::pair<WallTime, Lease>> expiries_;     ///< Likewise, of jobs that expire.
};

}  // namespace cells
