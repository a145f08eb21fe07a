// What the engine asks of the store. Every operation is a state transition of one job or one cell;
// tests/unit/src/store/contract.hpp holds each implementation to what is written here.
//
// Order: a store handles messages in the order they arrive and answers in that order, so that an
// asker never sees an older state after a newer one. Durability: every answer to a write is sent
// after the write is on disk; writes that arrive together are committed together. A store that
// cannot commit answers everything with an error from then on and never carries on.
//
// Lines: the jobs of one entity (customer, product, entity.type, entity.id) that have a place stand
// in a line, lowest place first. Only its head can be runnable. A job is *runnable* when it heads
// its line, is not held, and is queued, or is retrying with `next_attempt_at` passed in an
// AdvanceDue. An ended job with `settle_until` keeps its place until an AdvanceDue at or after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cells/model/ids.hpp"
#include "cells/model/job.hpp"
#include "cells/model/status.hpp"
#include "cells/model/submission.hpp"
#include "cells/ports/actor_types.hpp"

namespace cells {

// --- Starting --------------------------------------------------------------------------------

/// Begins a new epoch (promise P3) and lets go of every hold.
struct StartEpoch {
  WallTime now{};
};
struct EpochStarted {
  /// Greater than any before on this store, and at least the seconds from 1970 until `now`: a store
  /// that was put back to an older state repeats no epoch that followed that state.
  std::uint64_t epoch = 0;
  JobId last_id = 0;  ///< No id or place in the store is greater.
};

/// Asks which cells have something to do and which were changed by an administrator.
struct LoadCells {};
struct CellsLoaded {
  std::vector<CellKey> with_jobs;  ///< Cells with unfinished or settling jobs; ordered.
  std::map<CellKey, CellOverride> overrides;
};

/// Asks for the (cell, customer, product) triples that have unfinished or settling jobs, ordered,
/// after the given one. Used when the configuration backlogs differently from before.
struct ListBacklogs {
  std::optional<CellKey> after_cell;  ///< None: from the beginning.
  std::string after_customer;
  std::string after_product;
  std::size_t limit = 1000;
};
struct StoredBacklog {
  CellKey cell;
  std::string customer;
  std::string product;

  auto operator<=>(const StoredBacklog&) const = default;
};
struct BacklogsListed {
  std::vector<StoredBacklog> backlogs;
};

/// Moves unfinished and settling jobs of one route to another cell, at most `limit` of them.
/// Lines, places and leases stay as they are.
struct MoveJobs {
  StoredBacklog from;
  CellKey to;
  std::size_t limit = 1000;
  bool running_too = true;  ///< False: jobs that run stay where they are.
};
struct JobsMoved {
  std::size_t moved = 0;  ///< Less than the limit: all are moved.
  JobCounts counts;       ///< Of the unfinished ones among them.
};

/// Asks how many unfinished jobs have yet to be done by each of these services.
struct CountNeeds {
  std::set<std::string> services;
};
struct NeedsCounted {
  std::map<std::string, std::uint64_t> jobs;  ///< Only services that some job needs.
};

/// Lets go of every hold: services have come that were missing. Not answered.
struct ReleaseHolds {};

/// Asks where a cell stands, when its dispatcher starts.
struct LoadCell {
  CellKey cell;
};
struct CellLoaded {
  JobCounts counts;                  ///< Of unfinished jobs.
  std::vector<JobPtr> running;       ///< Jobs with a lease whose end was never recorded.
  bool runnable = false;             ///< Whether any job of the cell is runnable.
  std::optional<WallTime> next_due;  ///< As in DueAdvanced.
};

// --- The life of a job -----------------------------------------------------------------------

/// The job that holds an idempotency key of its customer: from its insertion until it is pruned.
struct KeyHolder {
  JobPtr job;                 ///< Null: nobody holds the key.
  bool same_request = false;  ///< It was accepted for a request of the same digest.
};

/// Adds a job in state scheduled (place 0) or queued (with its place). With a key that another job
/// of the customer holds, nothing is added.
struct InsertJob {
  JobPtr job;
  std::optional<Idempotency> idempotency{};
};
struct JobInserted {
  JobId id = 0;
  bool runnable = false;  ///< False: scheduled, or behind another job of its entity.
  KeyHolder holder;       ///< Who holds the key already; then the job was not added.
};

/// Asks who holds a key. Answered with a KeyHolder, which may be of an insertion just before.
struct FindKeyHolder {
  std::string customer;
  Idempotency idempotency;
};

/// Notes that a runnable job was handed out: `job` is running and carries its new lease. Takes
/// effect for all later operations at once; reaches the disk with a later commit, or not at all
/// when the end of the attempt is recorded in the same one. Not answered. Changes nothing when the
/// job has ended or is running already, so that a claim can never revive a finished job.
struct ClaimJob {
  JobPtr job;
};

/// Replaces a job by its next version, if its stored lease is `expected` and it has not ended;
/// otherwise changes nothing (promises P2 and P3). An ended job without `settle_until` leaves its
/// line, and the next of the line becomes runnable if it is queued. A queued version at the head of
/// its line is runnable at once, and stops being held.
struct RecordJob {
  Lease expected;
  JobPtr job;
};
struct JobRecorded {
  bool applied = false;
  JobPtr promoted;  ///< The job that became runnable by this one's leaving; may be of another cell.
};

/// Cancels a job of this cell that waits (scheduled, queued or retrying): cancel_waiting.
struct CancelWaiting {
  JobId id = 0;
  CellKey cell;
  WallTime now;
};
struct WaitingCancelled {
  JobPtr before;    ///< As what it stood; null: there is no such job.
  JobPtr after;     ///< Null: it does not wait in this cell, and nothing was changed.
  JobPtr promoted;  ///< As in JobRecorded.
};

/// Takes up a failed or cancelled job again: reopen, with a place at the end of its line.
struct ReopenEnded {
  JobId id = 0;
  CellKey cell;     ///< Where it goes.
  JobId place = 0;  ///< Greater than any in use.
  WallTime now;
};
struct EndedReopened {
  JobPtr before;          ///< As what it stood; null: there is no such job.
  JobPtr after;           ///< Null: it could not be reopened, and nothing was changed.
  bool runnable = false;  ///< As in JobInserted.
};

/// Takes a runnable job out of the runnable ones until the next StartEpoch or ReleaseHolds: it
/// needs a service that is not configured. Its state and its place stay. Not answered.
struct HoldJob {
  JobId id = 0;
};

/// Asks for runnable jobs of a cell: for each customer in order of name, its best ones by
/// (priority descending, place ascending).
struct FetchRunnable {
  CellKey cell;
  std::string customer;  ///< Where to begin.
  bool after = false;    ///< Begin with the next customer after it, rather than with it.
  std::size_t customers_max = 1;
  std::size_t jobs_max = 1;         ///< For each customer.
  std::size_t bytes_max = 1 << 20;  ///< Of approximate_bytes over all, though at least one job.
};
struct RunnableOfCustomer {
  std::string customer;
  std::vector<JobPtr> jobs;  ///< Best first.
  bool complete = false;     ///< The customer has no other runnable job in this cell.
};
struct RunnableFetched {
  std::vector<RunnableOfCustomer> customers;
  bool complete = false;  ///< No customer after the last one listed has a runnable job.
};

/// Does what is due in a cell at `now`, at most `limit` jobs in order of their due time:
/// scheduled jobs become queued and take places in their entities' lines, from `first_place`
/// upwards; retrying jobs become runnable; settled jobs leave their lines. Lists expired jobs,
/// and leaves them to the asker.
struct AdvanceDue {
  CellKey cell;
  WallTime now;
  JobId first_place = 0;  ///< With `limit - 1` following, none of them in use.
  std::size_t limit = 256;
};
struct DueAdvanced {
  std::vector<JobPtr> runnable;            ///< Jobs of this cell that became runnable.
  std::vector<JobPtr> promoted_elsewhere;  ///< The same, of other cells.
  std::size_t queued = 0;                  ///< How many went from scheduled to queued.
  std::vector<JobPtr> expired;  ///< Unfinished, not running, `expires_at` at or before now.
  /// The earliest of run_at (scheduled), next_attempt_at (retrying and not yet runnable),
  /// settle_until (ended, in line) and expires_at (scheduled, queued, retrying) in this cell,
  /// after this operation, the listed expired ones not counted. At or before `now` when the limit
  /// cut the work short.
  std::optional<WallTime> next_due;
};

// --- Forgetting ------------------------------------------------------------------------------

/// Removes jobs that ended before `before` and stand in no line any more, the longest ended first,
/// each with its labels and its idempotency key. At most `limit` of them, and no more than can be
/// removed within about `time_max`, though at least one: others wait for the same commit.
struct PruneEnded {
  WallTime before;
  std::size_t limit = 1;
  microseconds time_max = milliseconds{10};
};
struct EndedPruned {
  std::size_t pruned = 0;
  bool more = false;   ///< A bound cut the work short.
  WallTime reached{};  ///< When the last of them had ended.
};

// --- Overrides -------------------------------------------------------------------------------

/// Writes down what an administrator changed at a cell; takes it back when that is nothing.
struct SetCellOverride {
  CellKey cell;
  CellOverride change;
};
struct CellOverrideSet {};

/// Answered when everything before it is on disk, the claims too; committed with what is pending.
struct FlushStore {};
struct StoreFlushed {};

// --- Reading, beside the engine --------------------------------------------------------------

struct FindJob {
  JobId id = 0;
};
struct JobFound {
  JobPtr job;  ///< Null: there is none.
};

/// All that is given must match.
struct JobFilter {
  std::optional<std::string> customer;
  std::optional<std::string> product;
  std::optional<JobState> state;
  std::optional<std::string> service;
  std::optional<std::string> entity_type;
  std::optional<std::string> entity_id;
  std::map<std::string, std::string> labels;
  std::optional<WallTime> created_after;   ///< Exclusive.
  std::optional<WallTime> created_before;  ///< Exclusive.
};
struct ListJobs {
  JobFilter filter;
  JobId before = 0;  ///< Jobs with lesser ids, newest first; 0: from the newest.
  std::size_t limit = 50;
  std::size_t bytes_max = 8 << 20;
};
struct JobsListed {
  std::vector<JobPtr> jobs;
  /// Go on with ListJobs::before = next; 0: there are no more. A page can be short, even empty,
  /// and have a next: the work spent on one is bounded.
  JobId next = 0;
  bool full = false;  ///< It was `limit` or `bytes_max` that ended it, not that bound.
};

/// Asks how long the oldest queued job of a cell has had its place.
struct FindOldestQueued {
  CellKey cell;
};
struct OldestQueued {
  JobId place = 0;  ///< 0: none is queued.
};

}  // namespace cells

CELLS_MESSAGE(StartEpoch)
CELLS_MESSAGE(EpochStarted)
CELLS_MESSAGE(LoadCells)
CELLS_MESSAGE(CellsLoaded)
CELLS_MESSAGE(ListBacklogs)
CELLS_MESSAGE(BacklogsListed)
CELLS_MESSAGE(MoveJobs)
CELLS_MESSAGE(JobsMoved)
CELLS_MESSAGE(CountNeeds)
CELLS_MESSAGE(NeedsCounted)
CELLS_MESSAGE(ReleaseHolds)
CELLS_MESSAGE(LoadCell)
CELLS_MESSAGE(CellLoaded)
CELLS_MESSAGE(InsertJob)
CELLS_MESSAGE(JobInserted)
CELLS_MESSAGE(KeyHolder)
CELLS_MESSAGE(FindKeyHolder)
CELLS_MESSAGE(ClaimJob)
CELLS_MESSAGE(RecordJob)
CELLS_MESSAGE(JobRecorded)
CELLS_MESSAGE(CancelWaiting)
CELLS_MESSAGE(WaitingCancelled)
CELLS_MESSAGE(ReopenEnded)
CELLS_MESSAGE(EndedReopened)
CELLS_MESSAGE(HoldJob)
CELLS_MESSAGE(FetchRunnable)
CELLS_MESSAGE(RunnableFetched)
CELLS_MESSAGE(AdvanceDue)
CELLS_MESSAGE(DueAdvanced)
CELLS_MESSAGE(PruneEnded)
CELLS_MESSAGE(EndedPruned)
CELLS_MESSAGE(SetCellOverride)
CELLS_MESSAGE(CellOverrideSet)
CELLS_MESSAGE(FlushStore)
CELLS_MESSAGE(StoreFlushed)
CELLS_MESSAGE(FindJob)
CELLS_MESSAGE(JobFound)
CELLS_MESSAGE(ListJobs)
CELLS_MESSAGE(JobsListed)
CELLS_MESSAGE(FindOldestQueued)
CELLS_MESSAGE(OldestQueued)

namespace cells {

/// Writes, and the reads that must see every write before them. One per daemon.
using JobStore = caf::typed_actor<
    caf::replies_to<StartEpoch>::with<EpochStarted>, caf::replies_to<LoadCells>::with<CellsLoaded>,
    caf::replies_to<ListBacklogs>::with<BacklogsListed>, caf::replies_to<MoveJobs>::with<JobsMoved>,
    caf::replies_to<CountNeeds>::with<NeedsCounted>, caf::reacts_to<ReleaseHolds>,
    caf::replies_to<LoadCell>::with<CellLoaded>, caf::replies_to<InsertJob>::with<JobInserted>,
    caf::replies_to<FindKeyHolder>::with<KeyHolder>, caf::reacts_to<ClaimJob>,
    caf::replies_to<RecordJob>::with<JobRecorded>,
    caf::replies_to<CancelWaiting>::with<WaitingCancelled>,
    caf::replies_to<ReopenEnded>::with<EndedReopened>, caf::reacts_to<HoldJob>,
    caf::replies_to<FetchRunnable>::with<RunnableFetched>,
    caf::replies_to<AdvanceDue>::with<DueAdvanced>, caf::replies_to<PruneEnded>::with<EndedPruned>,
    caf::replies_to<SetCellOverride>::with<CellOverrideSet>,
    caf::replies_to<FlushStore>::with<StoreFlushed>>;

/// Reads what is committed, never waits for a write. For the API.
using JobReader = caf::typed_actor<caf::replies_to<FindJob>::with<JobFound>,
                                   caf::replies_to<ListJobs>::with<JobsListed>,
                                   caf::replies_to<FindOldestQueued>::with<OldestQueued>>;

}  // namespace cells
