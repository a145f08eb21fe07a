// The live leases of one dispatcher.
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

/// Why the dispatcher aborted an attempt.
enum class AbortCause : std::uint8_t { none, timeout, expiry, cancel, hand_back, worker_lost };

/// What the client of a protected service has given for an attempt.
enum class Permit : std::uint8_t {
  none,
  call,
  probe,  ///< The attempt probes a circuit that is half-open.
};

/// A lease is live from the moment its job is handed out until the attempt is known to be over. An
/// aborted attempt keeps its lease, and with it its worker and its entity, until the abort is
/// confirmed (promise P8).
struct LiveLease {
  JobPtr job;
  SteadyTime handed_out_at{};
  SteadyTime deadline{};  ///< SteadyTime::max(): not set until the worker begins.
  AbortCause abort = AbortCause::none;
  bool started = false;      ///< Its worker has begun: see LeaseTable::start.
  std::uint64_t worker = 0;  ///< The worker inside that has it; 0 if that worker is gone.
  bool outside = false;      ///< A worker outside the daemon has it.
  Permit permit = Permit::none;
  std::int64_t charged_us = 0;  ///< By SlotShares, when it began; 0: not at all.
  milliseconds settle{0};       ///< Of its service, when it was handed out.
};

/// Live leases, found by lease, by job and by deadline. Not thread-safe.
class LeaseTable {
 public:
  void add(const Lease& lease, LiveLease entry);

  /// Null when the lease is not live.
  LiveLease* find(const Lease& lease);
  const LiveLease* find(const Lease& lease) const;

  /// Removes a live lease, and returns its entry.
  LiveLease remove(const Lease& lease);

  /// The worker has begun. The deadline moves to this time, unless the attempt was aborted.
  void start(const Lease& lease, SteadyTime deadline);

  /// The attempt was aborted: its deadline and its job's expiry no longer count.
  void abort(const Lease& lease, AbortCause cause);

  /// The worker outside that has the lease is asked to give it up; its deadline still counts until
  /// then.
  void ask_back(const Lease& lease);

  /// Leases that are not being aborted and whose deadline is at or before `now`.
  std::vector<Lease> overdue(SteadyTime now) const;
  /// Leases that are not being aborted and whose job's expiry is at or before `now`.
  std::vector<Lease> expired(WallTime now) const;
  /// All live leases, in ascending order.
  std::vector<Lease> all() const;

  std::optional<SteadyTime> next_deadline() const;
  std::optional<WallTime> next_expiry() const;

  bool has_job(JobId job) const { return jobs_.contains(job); }
  /// The live lease of a job, if there is one.
  std::optional<Lease> lease_of(JobId job) const;
  std::size_t size() const { return leases_.size(); }
  /// The number of live leases that workers outside have.
  std::size_t outside() const { return outside_; }

 private:
  std::map<Lease, LiveLease> leases_;
  std::map<JobId, Lease> jobs_;
  std::size_t outside_ = 0;
  std::set<std::pair<SteadyTime, Lease>> deadlines_;  ///< Of leases that are not being aborted.
  std::set<std::pair<WallTime, Lease>> expiries_;     ///< Of those whose jobs can expire.
};

}  // namespace cells
