// The job store port: transitions and reads of jobs, cells, batches and schedules.
// tests/unit/src/store/contract.hpp holds each implementation to these comments.
//
// Requirements, which both a store in this process and a store over a network can meet:
//
// - Order. The requests of one sender take effect in the order of sending, and are answered in that
//   order. A request sees the effects of all requests, of any sender, that were answered before it
//   was sent. So no client sees an older state after a newer one.
// - Durability. The store answers a write once the write survives what the store promises to
//   survive. It may commit waiting writes together. The sender's later requests see an unanswered
//   write, and the write is durable once a later one is.
// - Kinds of jobs. A job is on disk or in memory (Job::durability). What this file says about the
//   disk holds for jobs on disk. A crash forgets jobs in memory with their keys; a write to such a
//   job need not survive anything, so its answer need not wait for a commit. Requests about a whole
//   cell name the kind of its jobs. The order of answers holds among requests about one kind, and
//   between a request about one kind and a later one about both. A store that cannot keep jobs in
//   memory keeps all jobs alike.
// - One owner. All requests about a cell and its jobs come from one daemon, the owner of the cell.
//   StartEpoch makes its sender the owner: once it is answered, no write of an earlier owner takes
//   effect.
// - Failure. A store may repeat a request by itself if it knows that the request has had no effect,
//   or that repeating it changes nothing. A store that cannot tell whether a write is durable
//   answers that request and all later ones with an error. The daemon then ends. Its successor
//   begins with a StartEpoch, and learns from the store what was committed.
//
// Lines: the jobs of one entity (customer, product, entity.type, entity.id) that have a place form
// a line, lowest place first. A job is *runnable* if it is the head of its line, is not held, and
// is either queued, or retrying with a `next_attempt_at` that an AdvanceDue has reached, or
// compensating with no `next_attempt_at` or with one that an AdvanceDue has reached. An ended job
// with `settle_until` keeps its place until an AdvanceDue reaches that time.
//
// Followers: when a job in a line ends as failed, the next job behind it gets a `failed_ahead`: the
// greatest id or place in the store, so that jobs which come later are not among the followers.
// When a job with `failed_ahead` ends, the next job behind it gets the same value, unless that
// job's place is greater. The mark thus moves through the line as its jobs end, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cells/model/action_set.hpp"
#include "cells/model/batch.hpp"
#include "cells/model/ids.hpp"
#include "cells/model/job.hpp"
#include "cells/model/quota.hpp"
#include "cells/model/schedule.hpp"
#include "cells/model/status.hpp"
#include "cells/model/submission.hpp"
#include "cells/ports/actor_types.hpp"

namespace cells {

// --- Starting --------------------------------------------------------------------------------

/// Begins a new epoch (promise P3), and closes every open batch: the requests that filled them
/// ended with the daemon. Jobs in memory that a batch counts are forgotten, except for those in
/// `kept`.
struct StartEpoch {
  WallTime now{};
  std::map<BatchId, BatchInMemory> kept{};
};
struct EpochStarted {
  /// Greater than any earlier epoch of this store, and at least the seconds from 1970 to `now`, so
  /// that a store restored from a backup does not repeat the epochs that followed the backup.
  std::uint64_t epoch = 0;
  JobId last_id = 0;  ///< No id or place in the store is greater.
};

/// Reads which cells have jobs, and what administrators changed.
struct LoadCells {};
struct CellsLoaded {
  std::vector<CellKey> with_jobs;  ///< Cells with unfinished or settling jobs, ordered by key.
  std::map<CellKey, CellOverride> overrides;
};

/// Lists, in order, the (cell, customer, product) triples after this one that have unfinished or
/// settling jobs. Used at a start and when a reload changes the routing.
struct ListBacklogs {
  std::optional<CellKey> after_cell;  ///< None: from the beginning.
  std::string after_customer;
  std::string after_product;
  std::size_t limit = 1000;
  std::optional<Durability> durability{};  ///< Only those of this kind.
};
struct StoredBacklog {
  CellKey cell;
  std::string customer;
  std::string product;

  auto operator<=>(const StoredBacklog&) const = default;
};
struct BacklogsListed {
  std::vector<StoredBacklog> backlogs;
  std::vector<std::uint64_t> jobs{};  ///< How many such jobs each backlog has.
};

/// Moves unfinished and settling jobs of one backlog to another cell, at most `limit` of them:
/// runnable ones of the lane of workers inside first, in the order of FetchRunnable, then those
/// that are not runnable, ordered by state and place, then the runnable ones of the other lanes.
/// Lines, lanes, places and leases do not change.
struct MoveJobs {
  StoredBacklog from;
  CellKey to;
  std::size_t limit = 1000;
  bool running_too = true;  ///< False: running jobs stay where they are.
  Durability durability{};  ///< Of the jobs.
};
struct JobsMoved {
  std::size_t moved = 0;  ///< Below the limit: none is left to move.
  JobCounts counts;       ///< Of the unfinished jobs among them.
};

/// Counts the unfinished jobs that may still call each of these services (may_call). For each
/// service in `undos`, counts the unfinished jobs of these actions that may still have their step
/// at the service undone (may_undo).
struct CountNeeds {
  std::set<std::string> services;
  std::map<std::string, ActionSet> undos{};
};
struct NeedsCounted {
  std::map<std::string, std::uint64_t> jobs;     ///< Only services that some job needs.
  std::map<std::string, std::uint64_t> undos{};  ///< The same.
};

/// Reads the state of a cell, for a dispatcher that starts.
struct LoadCell {
  CellKey cell;
  Durability durability{};  ///< Of its jobs.
};
struct CellLoaded {
  JobCounts counts;                  ///< Of unfinished jobs.
  std::vector<JobPtr> running;       ///< Jobs with a lease whose end was never recorded.
  bool runnable = false;             ///< Some job in the lane of workers inside is runnable.
  bool held = false;                 ///< Some job is held.
  std::vector<std::string> lanes;    ///< The other lanes that have runnable jobs, in order.
  std::optional<WallTime> next_due;  ///< As in DueAdvanced.
};

// --- The life of a job -----------------------------------------------------------------------

/// The job that holds an idempotency key of its customer, from its insertion until it is pruned.
struct KeyHolder {
  JobPtr job;                 ///< Null: no job holds the key.
  bool same_request = false;  ///< Its request had the same digest.
};

/// Adds a job that is scheduled (place 0) or queued (with its place), and counts it in its batch,
/// if it has one. Adds nothing if another job of the customer holds the key, nor if the customer's
/// room does not suffice. For a job in memory, removes ended jobs in memory, the earliest end
/// first, as far as that makes room, and adds nothing if the room does not suffice. With a
/// `firing`, the same commit advances the schedule, with the job as its `last_job`; for a job in
/// memory, the schedule reaches the disk before the job is added. Adds nothing if the advance does
/// not apply.
struct InsertJob {
  JobPtr job;
  std::optional<Idempotency> idempotency{};
  std::uint64_t bytes_max = 0;  ///< For a job in memory: what all jobs of its cell may take there.
  std::optional<ScheduleAdvance> firing{};  ///< Of a request without a key.
  CustomerRoom room{};
};
struct JobInserted {
  JobId id = 0;
  bool runnable = false;  ///< False: scheduled, or behind another job of its entity.
  KeyHolder holder;       ///< The earlier job with this key; if set, the new job was not added.
  std::optional<MemoryFull> full{};  ///< If set, the new job was not added.
  bool is_stale = false;             ///< The firing does not apply; the new job was not added.
  std::optional<CustomerFull> customer_full{};  ///< If set, the new job was not added.
};

/// Finds the holder of a key, among uncommitted insertions too. Answered with a KeyHolder.
struct FindKeyHolder {
  std::string customer;
  Idempotency idempotency;
};

/// Claims a runnable job that was handed out: `job` is running and carries its new lease. It
/// reaches the disk with a later commit, or never if the same commit records the end of the
/// attempt. Not answered. Changes nothing if the job has ended or is already running, so that a
/// claim can never revive a finished job.
struct ClaimJob {
  JobPtr job;
};

/// Replaces a job by its next version if its stored lease is `expected` and it has not ended;
/// otherwise changes nothing (promises P2 and P3). An ended job without `settle_until` leaves its
/// line, and the next job of the line becomes runnable if it is queued, or has nothing else to wait
/// for. A job that heads its line and does not end becomes runnable on the same conditions, even if
/// it was held. The job's `failed_ahead` stays as stored.
struct RecordJob {
  Lease expected;
  JobPtr job;
};
struct JobRecorded {
  bool applied = false;
  JobPtr promoted;  ///< The job that became runnable as this one left; may be of another cell.
  bool runnable = false;  ///< The job itself is runnable.
  JobPtr follower{};      ///< The job that got a `failed_ahead`; may be of another cell.
};

/// Applies cancel_waiting to a job of this cell that is scheduled, queued or retrying.
struct CancelWaiting {
  JobId id = 0;
  CellKey cell;
  WallTime now;
};
struct WaitingCancelled {
  JobPtr before;      ///< The job as stored; null: there is no such job.
  JobPtr after;       ///< Null: the job was not waiting in this cell, and is unchanged.
  JobPtr promoted;    ///< As in JobRecorded.
  JobPtr follower{};  ///< The same.
};

/// Applies reopen to a job that can be reopened, unless the customer's room does not suffice.
struct ReopenEnded {
  JobId id = 0;
  CellKey cell;     ///< Where it is to run.
  JobId place = 0;  ///< Greater than any in use.
  WallTime now;
  CustomerRoom room{};
};
struct EndedReopened {
  JobPtr before;          ///< The job as stored; null: there is no such job.
  JobPtr after;           ///< Null: the job could not be reopened, and is unchanged.
  bool runnable = false;  ///< As in JobInserted.
  std::optional<CustomerFull> customer_full{};  ///< If set, the job is unchanged.
};

/// Holds a runnable job, because it needs a service that is not configured: the job keeps its state
/// and place, but is not runnable until a ReleaseHolds. Not answered.
struct HoldJob {
  JobId id = 0;
};

/// Releases held jobs of a cell: the first `limit` whose ids are above `after`, in the order of
/// their ids.
struct ReleaseHolds {
  CellKey cell;
  JobId after = 0;
  std::size_t limit = 1000;
  Durability durability{};  ///< Of the jobs.
};
struct HoldsReleased {
  std::size_t released = 0;  ///< Below the limit: no job above `after` is held.
  JobId last = 0;            ///< The greatest id among them; 0: there are none.
};

/// Puts a runnable job into another lane of its cell, because a reload has changed the lane of its
/// service. Not answered.
struct ChangeLane {
  JobId id = 0;
  std::string lane;
};

/// Reads runnable jobs of one lane of a cell: customers in order of their names, and for each of
/// them the first jobs by (priority_rank, place).
struct FetchRunnable {
  CellKey cell;
  std::string customer;  ///< Where to begin.
  bool after = false;    ///< Begin with the customer that follows this one.
  std::size_t customers_max = 1;
  std::size_t jobs_max = 1;         ///< Per customer.
  std::size_t bytes_max = 1 << 20;  ///< Sum of approximate_bytes; one job is always listed.
  std::string lane{};
  Durability durability{};  ///< Of the jobs.
  milliseconds priority_step{0};
  std::vector<std::string> except{};  ///< Customers to pass over; sorted.
};
struct RunnableOfCustomer {
  std::string customer;
  std::vector<JobPtr> jobs;  ///< In the order above.
  bool complete = false;     ///< The customer has no other runnable job in this lane.
};
struct RunnableFetched {
  std::vector<RunnableOfCustomer> customers;
  /// No customer after the last one listed has a runnable job, apart from those passed over.
  bool complete = false;
};

/// Advances what is due in a cell at `now`, at most `limit` jobs in order of their due times.
/// Scheduled jobs become queued and take places in their entities' lines, from `first_place`
/// upwards; retrying and compensating jobs become runnable; settled jobs leave their lines. Expired
/// jobs are listed but not changed.
struct AdvanceDue {
  CellKey cell;
  WallTime now;
  JobId first_place = 0;  ///< This place and the `limit - 1` after it must be unused.
  std::size_t limit = 256;
  Durability durability{};  ///< Of the jobs.
};
struct DueAdvanced {
  std::vector<JobPtr> runnable;            ///< Jobs of this cell that became runnable.
  std::vector<JobPtr> promoted_elsewhere;  ///< The same, of other cells.
  std::size_t queued = 0;                  ///< How many scheduled jobs became queued.
  std::vector<JobPtr> expired;  ///< Unfinished, not running, `expires_at` at or before `now`.
  /// After this operation, and without the listed expired jobs, the earliest in this cell of run_at
  /// (scheduled), next_attempt_at (retrying or compensating, and not yet runnable), settle_until
  /// (ended, in line) and expires_at (scheduled, queued, retrying). At or before `now` if the limit
  /// cut the work short.
  std::optional<WallTime> next_due;
};

// --- Pruning ---------------------------------------------------------------------------------

/// Removes jobs that ended before `before` and have left their lines, the earliest end first, each
/// with its labels and its idempotency key. Removes at least one, if there is one, at most `limit`,
/// and after the first no more than about `time_max` allows, because other requests wait for the
/// same commit. Removes a closed batch together with its last job, and also closed batches without
/// jobs whose `last_end` is before `before`, at most `limit` of them.
struct PruneEnded {
  WallTime before;
  std::size_t limit = 1;
  microseconds time_max = milliseconds{10};
};
struct EndedPruned {
  std::size_t pruned = 0;  ///< Jobs.
  bool more = false;       ///< A bound cut the work short.
  WallTime reached{};      ///< If `more`, the end up to which everything has been removed.
};

// --- Batches ---------------------------------------------------------------------------------

// The counts of a batch (cells/model/batch.hpp) change with each change of its jobs on disk, in the
// same commit.

/// Adds an open batch without jobs. Adds nothing if the id is in use. No job may have named the id
/// before.
struct OpenBatch {
  BatchId id = 0;
  BatchOwner owner{};
  WallTime now{};
};
struct BatchOpened {
  bool added = false;
};

/// Closes a batch: no more jobs come.
struct CloseBatch {
  BatchId id = 0;
  WallTime now{};
};
struct BatchClosed {
  std::optional<Batch> batch{};  ///< As it is now; none: there is no such batch.
};

/// Records that the jobs of a batch are to be cancelled, so that the next start can continue the
/// cancellation, or that all of them have been cancelled.
struct MarkCancelled {
  BatchId id = 0;
  bool is_cancelled = true;
};
struct CancelledMarked {
  bool found = false;  ///< False: there is no such batch.
};

/// Records how many jobs of a batch are in memory, and in which states, in place of the last
/// record. Removes a closed batch that has no job left.
struct NoteInMemory {
  BatchId id = 0;
  BatchInMemory jobs{};
};
struct InMemoryNoted {};

// --- Schedules -------------------------------------------------------------------------------

/// Lists schedules in order of their names.
struct LoadSchedules {
  std::string from{};  ///< The name to begin with.
  bool after = false;  ///< Begin with the name that follows this one.
  std::size_t limit = 100;
};
struct SchedulesLoaded {
  std::vector<Schedule> schedules{};  ///< Fewer than `limit`: there are no others.
};

/// Adds a schedule, or replaces the one of this name.
struct SaveSchedule {
  Schedule schedule{};
};
struct ScheduleSaved {};

struct RemoveSchedule {
  std::string name{};
};
struct ScheduleRemoved {
  bool found = false;
};

/// Advances a schedule without a job.
struct AdvanceSchedule {
  ScheduleAdvance advance{};
};
struct ScheduleAdvanced {
  bool applied = false;  ///< False: the schedule has moved on, or there is none.
};

// --- Overrides -------------------------------------------------------------------------------

/// Stores an override of a cell; one that overrides nothing removes the stored one.
struct SetCellOverride {
  CellKey cell;
  CellOverride change;
};
struct CellOverrideSet {};

/// Commits everything pending, claims included; answered once it is on disk.
struct FlushStore {
  std::optional<Durability> durability{};  ///< Only what concerns jobs of this kind.
};
struct StoreFlushed {};

// --- Reading, for the API --------------------------------------------------------------------

struct FindJob {
  JobId id = 0;
};
struct JobFound {
  JobPtr job;  ///< Null: there is none.
};

/// Every member that is set must match.
struct JobFilter {
  std::optional<std::string> customer;
  std::optional<std::string> product;
  std::optional<JobState> state;  ///< As clients see it: shown_state.
  std::optional<std::string> service;
  std::optional<std::string> entity_type;
  std::optional<std::string> entity_id;
  std::map<std::string, std::string> labels;
  std::optional<WallTime> created_after;   ///< Exclusive.
  std::optional<WallTime> created_before;  ///< Exclusive.
  std::optional<BatchId> batch{};
  bool unfinished = false;  ///< Only jobs that have not ended.
};
struct ListJobs {
  JobFilter filter;
  JobId before = 0;  ///< Lists jobs with lower ids, newest first; 0: from the newest.
  std::size_t limit = 50;
  std::size_t bytes_max = 8 << 20;
};
struct JobsListed {
  std::vector<JobPtr> jobs;
  /// The value of ListJobs::before for the next page; 0: there is none. The work spent on one page
  /// is bounded, so a page can be short, or even empty, and still have a next one.
  JobId next = 0;
  bool full = false;  ///< `limit` or `bytes_max` ended the page, not the bound on its work.
};

struct FindBatch {
  BatchId id = 0;
};
struct BatchFound {
  std::optional<Batch> batch{};
};

/// Lists batches, newest first.
struct ListBatches {
  std::optional<BatchOwner> owner{};  ///< Only those of this owner.
  bool only_cancelled = false;        ///< Only those whose jobs are being cancelled.
  BatchId before = 0;                 ///< Lists batches with lower ids; 0: from the newest.
  std::size_t limit = 50;
};
struct BatchesListed {
  std::vector<Batch> batches{};
  BatchId next = 0;  ///< The value of ListBatches::before for the next page; 0: there is none.
};

/// Finds the lowest place of a queued job in each of these cells.
struct FindOldestQueued {
  std::vector<CellKey> cells;
};
struct OldestQueued {
  /// In the order of the cells. 0: no job is queued. time_of() gives the age of the job.
  std::vector<JobId> places;
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
CELLS_MESSAGE(ReleaseHolds)
CELLS_MESSAGE(HoldsReleased)
CELLS_MESSAGE(ChangeLane)
CELLS_MESSAGE(FetchRunnable)
CELLS_MESSAGE(RunnableFetched)
CELLS_MESSAGE(AdvanceDue)
CELLS_MESSAGE(DueAdvanced)
CELLS_MESSAGE(PruneEnded)
CELLS_MESSAGE(EndedPruned)
CELLS_MESSAGE(OpenBatch)
CELLS_MESSAGE(BatchOpened)
CELLS_MESSAGE(CloseBatch)
CELLS_MESSAGE(BatchClosed)
CELLS_MESSAGE(MarkCancelled)
CELLS_MESSAGE(NoteInMemory)
CELLS_MESSAGE(InMemoryNoted)
CELLS_MESSAGE(CancelledMarked)
CELLS_MESSAGE(FindBatch)
CELLS_MESSAGE(BatchFound)
CELLS_MESSAGE(ListBatches)
CELLS_MESSAGE(BatchesListed)
CELLS_MESSAGE(LoadSchedules)
CELLS_MESSAGE(SchedulesLoaded)
CELLS_MESSAGE(SaveSchedule)
CELLS_MESSAGE(ScheduleSaved)
CELLS_MESSAGE(RemoveSchedule)
CELLS_MESSAGE(ScheduleRemoved)
CELLS_MESSAGE(AdvanceSchedule)
CELLS_MESSAGE(ScheduleAdvanced)
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

/// The writes, and the reads that must see every earlier write. One per daemon.
using JobStore = caf::typed_actor<
    caf::replies_to<StartEpoch>::with<EpochStarted>, caf::replies_to<LoadCells>::with<CellsLoaded>,
    caf::replies_to<ListBacklogs>::with<BacklogsListed>, caf::replies_to<MoveJobs>::with<JobsMoved>,
    caf::replies_to<CountNeeds>::with<NeedsCounted>, caf::replies_to<LoadCell>::with<CellLoaded>,
    caf::replies_to<InsertJob>::with<JobInserted>, caf::replies_to<FindKeyHolder>::with<KeyHolder>,
    caf::reacts_to<ClaimJob>, caf::replies_to<RecordJob>::with<JobRecorded>,
    caf::replies_to<CancelWaiting>::with<WaitingCancelled>,
    caf::replies_to<ReopenEnded>::with<EndedReopened>, caf::reacts_to<HoldJob>,
    caf::replies_to<ReleaseHolds>::with<HoldsReleased>, caf::reacts_to<ChangeLane>,
    caf::replies_to<FetchRunnable>::with<RunnableFetched>,
    caf::replies_to<AdvanceDue>::with<DueAdvanced>, caf::replies_to<PruneEnded>::with<EndedPruned>,
    caf::replies_to<OpenBatch>::with<BatchOpened>, caf::replies_to<CloseBatch>::with<BatchClosed>,
    caf::replies_to<MarkCancelled>::with<CancelledMarked>,
    caf::replies_to<NoteInMemory>::with<InMemoryNoted>,
    caf::replies_to<LoadSchedules>::with<SchedulesLoaded>,
    caf::replies_to<SaveSchedule>::with<ScheduleSaved>,
    caf::replies_to<RemoveSchedule>::with<ScheduleRemoved>,
    caf::replies_to<AdvanceSchedule>::with<ScheduleAdvanced>,
    caf::replies_to<SetCellOverride>::with<CellOverrideSet>,
    caf::replies_to<FlushStore>::with<StoreFlushed>>;

/// Reads what is committed, and never waits for a write.
using JobReader = caf::typed_actor<
    caf::replies_to<FindJob>::with<JobFound>, caf::replies_to<ListJobs>::with<JobsListed>,
    caf::replies_to<FindBatch>::with<BatchFound>, caf::replies_to<ListBatches>::with<BatchesListed>,
    caf::replies_to<FindOldestQueued>::with<OldestQueued>>;

}  // namespace cells
