// The messages about lanes: the runnable jobs of a cell that wait for something outside the cell.
// Those of a `pull` service wait for a worker outside, which takes a lease; those of a protected
// service wait for a permit to call its provider.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cells/model/cell_key.hpp"
#include "cells/model/ids.hpp"
#include "cells/model/job.hpp"
#include "cells/model/lane_state.hpp"
#include "cells/model/service_guard.hpp"
#include "cells/model/status.hpp"
#include "cells/model/time.hpp"
#include "cells/ports/actor_types.hpp"
#include "cells/ports/provider.hpp"

namespace cells {

// --- Leases of workers outside -------------------------------------------------------------------
//
// A worker that pulls the jobs of a service asks for leases, and reports how each ended. Its leases
// stay live when celld restarts.

/// A lease that a worker outside has. `job` is running under it; the step names the worker.
struct LeaseOut {
  JobPtr job;
  SteadyTime deadline{};  ///< No later than the job's expiry.
};

/// Lease up to `max` jobs of this service to this worker: now, or as soon as there is one, until
/// the request is withdrawn. Answered once the leases are stored or, if withdrawn, with none.
struct RequestLeases {
  std::uint64_t request = 0;  ///< Chosen by the sender, unique, ascending.
  std::string service;
  std::string worker;
  std::optional<std::string> customer;  ///< Only jobs of this customer.
  std::size_t max = 1;
  bool wait = true;  ///< False: answer as soon as it is known that there is no job now.
};
struct LeasesGranted {
  std::vector<LeaseOut> leases;
};

/// The clients of these requests have disconnected or stopped waiting.
struct WithdrawRequests {
  std::vector<std::uint64_t> requests;
};

/// These leases never reached their worker: their jobs are queued again, the attempt not counted.
struct ReturnLeases {
  std::vector<Lease> leases;
};

/// The worker still works: its deadline moves to now plus the timeout of the step, unless the
/// lease is to be given up.
struct ExtendLease {
  Lease lease;
  JobPtr job;  ///< A recent version, if the desk does not know the lease; else null.
  std::optional<double> progress;
  std::string message;  ///< Empty: none.
};
struct LeaseExtended {
  std::optional<LeaseOut> lease;  ///< None: the lease is not live, or not known.
  bool cancel = false;            ///< The job is to be cancelled: give up.
};

/// The worker has ended its attempt. Answered once the end is stored.
struct EndLease {
  Lease lease;
  JobPtr job;  ///< As in ExtendLease.
  CallOutcome outcome;
};
struct LeaseEnded {
  bool accepted = false;  ///< False: the lease is not live, or not known.
};

/// Find a lease that is out; none if the desk knows of no such lease.
struct FindLease {
  Lease lease;
};
struct LeaseFound {
  std::optional<LeaseOut> lease;
};

/// List leases that are out, in ascending order. Every member that is set must match.
struct ListLeases {
  std::optional<std::string> worker{};
  std::optional<std::string> service{};
  std::optional<std::set<std::string>> services{};  ///< One of these.
  std::optional<std::string> customer{};
  Lease after{};  ///< Only leases after this one.
  std::size_t limit = 50;
};
struct LeasesListed {
  std::vector<LeaseOut> leases;
  bool more = false;  ///< Others follow.
};

/// From now on, these limits apply; pull services that are not named have none.
struct ChangeLimits {
  std::map<std::string, ServiceLimits> services;
};

/// Report the status of the pull services that have granted a lease, or are asked for one.
struct DescribeLeases {
  std::optional<std::string> only{};  ///< This service alone.
};
struct LeasesDescribed {
  std::map<std::string, ServiceStatus> services;
};

// --- Between a desk and the dispatchers ----------------------------------------------------------
//
// A desk hands out what the jobs of a lane wait for: the lease desk hands out leases, and the
// client of a protected service hands out permits. A dispatcher reports that a lane has work when
// the lane becomes non-empty, and the desk remembers that. When the desk has something to hand out,
// it asks such a dispatcher to take it. A dispatcher without a free slot answers `busy`, and offers
// a slot once it has one; offered slots stay reserved until the desk has asked again or declined.

/// Lease up to `count` jobs of this service to this worker. Answered once the leases are stored, or
/// once it is known that there are none.
struct GrantLeases {
  std::string service;
  std::string worker;
  std::optional<std::string> customer;
  std::size_t count = 1;
  std::size_t bytes_max = 1 << 20;  ///< Sum of approximate_bytes; one job is always leased.
};
struct GrantAnswered {
  std::vector<LeaseOut> leases;
  LaneState lane = LaneState::empty;
  std::size_t available = 0;  ///< How many more it could grant at once; perhaps 0 with `more`.
};

/// There is nothing to hand out for this service: free the slot that was offered, and offer no
/// other until GrantLeases or GrantPermits. Ignored if no slot is reserved.
struct DeclineSlot {
  std::string service;
};

/// This lease is no longer live: the worker outside held it for `ran`.
struct LeaseOver {
  Lease lease;
  microseconds ran{};
};

/// Start up to `count` jobs of this service, each under a lease that has a permit from now on.
struct GrantPermits {
  std::string service;
  std::size_t count = 1;
  bool probe = false;  ///< A failed call uses up no attempt.
};
struct PermitsTaken {
  std::vector<Lease> leases;
  LaneState lane = LaneState::empty;
  std::size_t available = 0;  ///< How many more it could take at once.
};

/// The attempt under this lease, at a protected service, is over; it took `ran`.
struct PermitOver {
  Lease lease;
  CellKey key;
  microseconds ran{};
  ProviderSign sign;
};

/// Report how many jobs wait in the lane of this service, as far as they are in its window.
struct DescribeLane {
  std::string service;
};
struct LaneDescribed {
  std::size_t waiting = 0;
};

}  // namespace cells

CELLS_MESSAGE(RequestLeases)
CELLS_MESSAGE(LeasesGranted)
CELLS_MESSAGE(WithdrawRequests)
CELLS_MESSAGE(ReturnLeases)
CELLS_MESSAGE(ExtendLease)
CELLS_MESSAGE(LeaseExtended)
CELLS_MESSAGE(EndLease)
CELLS_MESSAGE(LeaseEnded)
CELLS_MESSAGE(FindLease)
CELLS_MESSAGE(LeaseFound)
CELLS_MESSAGE(ListLeases)
CELLS_MESSAGE(LeasesListed)
CELLS_MESSAGE(ChangeLimits)
CELLS_MESSAGE(DescribeLeases)
CELLS_MESSAGE(LeasesDescribed)
CELLS_MESSAGE(GrantLeases)
CELLS_MESSAGE(GrantAnswered)
CELLS_MESSAGE(DeclineSlot)
CELLS_MESSAGE(LeaseOver)
CELLS_MESSAGE(GrantPermits)
CELLS_MESSAGE(PermitsTaken)
CELLS_MESSAGE(PermitOver)
CELLS_MESSAGE(DescribeLane)
CELLS_MESSAGE(LaneDescribed)

namespace cells {

/// A cell, as a desk uses it. Everything is forwarded to the cell's dispatcher.
using LaneHolder = caf::typed_actor<
    caf::replies_to<GrantLeases>::with<GrantAnswered>,
    caf::replies_to<GrantPermits>::with<PermitsTaken>, caf::reacts_to<DeclineSlot>,
    caf::replies_to<DescribeLane>::with<LaneDescribed>, caf::reacts_to<ReturnLeases>,
    caf::replies_to<ExtendLease>::with<LeaseExtended>, caf::replies_to<EndLease>::with<LeaseEnded>>;

/// A lane of this cell, which the desk took for empty, has work.
struct LaneFilled {
  std::string service;
  CellKey key;
  LaneHolder cell;
  std::size_t available = 0;  ///< How many leases it could grant at once.
};

/// A lane of this cell that was reported as filled has no work.
struct LaneEmptied {
  std::string service;
  CellKey key;
};

/// A reserved slot for this lane: answer with GrantLeases, GrantPermits or DeclineSlot.
struct SlotOffered {
  std::string service;
  CellKey key;
  LaneHolder cell;
  std::optional<std::string> customer;  ///< Only a job of this customer can use it.
};

/// This lease of the cell has been out since before the cell's dispatcher started.
struct LeaseKept {
  LeaseOut lease;
  CellKey key;
  LaneHolder cell;
};

}  // namespace cells

CELLS_MESSAGE(LaneFilled)
CELLS_MESSAGE(LaneEmptied)
CELLS_MESSAGE(SlotOffered)
CELLS_MESSAGE(LeaseKept)
