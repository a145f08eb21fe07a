// The conversations of the engine: the messages, grouped by direction, and the typed interfaces.
// Those about lanes, slots and schedules are in lanes.hpp, slots.hpp and schedules.hpp.
// Requests have imperative names, events names in the past tense. cells/README.md draws the flow.
// "Stored" means on disk or, for jobs with Durability::memory, in the memory of the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cells/actors/lanes.hpp"
#include "cells/actors/slots.hpp"
#include "cells/model/cell_key.hpp"
#include "cells/model/ids.hpp"
#include "cells/model/job.hpp"
#include "cells/model/routing.hpp"
#include "cells/model/status.hpp"
#include "cells/model/submission.hpp"
#include "cells/model/time.hpp"
#include "cells/ports/job_store.hpp"
#include "cells/ports/provider.hpp"

namespace cells {

// --- From the API to the cell dispatcher -------------------------------------------------------

/// Accept this job; answered once the job is stored. An idempotency key that is in use takes
/// precedence over every reason to refuse the job.
struct SubmitJob {
  JobRequest request;
  /// Only replay an earlier submission with this idempotency key; never create a job.
  bool only_replay = false;
};
struct JobSubmitted {
  /// Null when the job was refused, when there was nothing to replay, when the gate of its batch
  /// was closed, or when its schedule had already decided the due time.
  JobPtr job;
  std::optional<Refusal> refusal;
  bool replayed = false;  ///< The same request was accepted before; `job` is what became of it.
  /// The request of a batch that came too fast, to be sent again later.
  std::shared_ptr<JobRequest> returned{};
};

/// Cancel this job; answered once the change is stored. A running job is marked, its attempt is
/// aborted, and the job is cancelled when the attempt has ended.
struct CancelJob {
  JobPtr job;  ///< A recent version.
};
struct CancelAnswered {
  JobPtr job;  ///< As it stands now; null when the store no longer has it.
  /// False: the job had ended or begun its compensation, or was not in the cell that `job` names.
  bool accepted = false;
};

/// Queue this failed or cancelled job again, unless a step of it was undone; answered once the
/// change is stored.
struct ReopenJob {
  JobPtr job;
};
struct ReopenAnswered {
  JobPtr job;  ///< As it stands now; null when refused, or when the store no longer has it.
  bool accepted = false;  ///< False: the job cannot be reopened, or is no longer stored.
  std::optional<Refusal> refusal;
};

/// Report the status of one cell.
struct DescribeCell {
  CellKey cell;
};
struct CellDescribed {
  std::optional<CellStatus> status;  ///< None: there is no such cell.
  /// Why the change was refused; then nothing has changed.
  std::optional<PoolRefusal> refused{};
};

/// Report the status of the cells after this key, in order of their keys.
struct ListCells {
  std::optional<CellKey> after;
  std::size_t limit = 50;
  std::optional<std::string> customer{};  ///< Only cells whose key names this customer, not `*`.
};
struct CellsListed {
  std::vector<CellStatus> cells;  ///< Without any that closed meanwhile.
  /// The last key of this page, if more cells follow.
  std::optional<CellKey> more_after;
};

/// Override the pool settings that are present; if none is, remove all three overrides.
/// Answered once the change is on disk and in force: from then on no job starts beyond the new size
/// and what the cell may borrow.
struct ResizePool {
  CellKey cell;
  std::optional<std::uint32_t> size;
  std::optional<std::uint32_t> burst{};
  std::optional<std::uint32_t> weight{};

  bool removes() const { return !size && !burst && !weight; }
};

/// Override the configured limits of a cell, or, if `quota` is empty, remove the override.
/// Answered once the change is on disk and in force.
struct ChangeQuota {
  CellKey cell;
  QuotaOverride quota{};
};

/// Activate, pause or drain a cell. Answered once the change is on disk and in force.
struct ChangeCellState {
  CellKey cell;
  CellState state = CellState::active;
};

/// A configured service, as the engine needs it.
struct ServiceEntry {
  /// Null: workers outside the daemon lease the service's jobs.
  std::function<Provider(caf::actor_system&)> start_provider;
  milliseconds settle{0};  ///< How long the entity is kept after an unknown outcome.
  Protection protection{};
  ActionSet undoes{};  ///< The actions that it can undo.
};

/// Switch to another configuration without interrupting any attempt (promise P12). Answered once
/// every waiting job is in the cell that the routing names, or with an error during another reload
/// or a shutdown. Refused if unfinished jobs need a service or an undo that would be removed, or if
/// unfinished or settling jobs would have to change their durability (durability.hpp).
struct Reconfigure {
  std::shared_ptr<const Routing> routing;
  std::map<std::string, ServiceEntry> services;  ///< New or changed; all others stay as they are.
  std::set<std::string> services_removed;        ///< To be removed.
  /// All cells together; none: the sum of their pool sizes.
  std::optional<std::uint64_t> running_max{};
};
struct Reconfigured {
  /// Services that cannot be removed, with the number of unfinished jobs that need each. Unless
  /// empty, nothing has changed.
  std::map<std::string, std::uint64_t> needed;
  std::vector<MaskedSetting> masked;  ///< In order of their cells.
  /// Configured cells, by the keys of their rules, that cannot keep jobs as the configuration says,
  /// with the number of open jobs with another durability. Unless empty, nothing has changed.
  std::map<CellKey, std::uint64_t> kept_otherwise{};
  /// Services that have to keep their undo, counted like `needed`. Unless empty, nothing has
  /// changed.
  std::map<std::string, std::uint64_t> undos_needed{};
};

/// Report the status of every service, or of one.
struct ListServices {
  std::optional<std::string> only{};
};
struct ServicesListed {
  std::map<std::string, ServiceStatus> services;
};

/// Let calls to this service begin again, whatever its circuit breaker and its provider said.
/// Answered with its status; without one if there is no such service.
struct ResetService {
  std::string service;
};

/// From now on, keep ended jobs and their idempotency keys for this long.
struct KeepEnded {
  milliseconds keep{};
};

/// How long a shutdown waits, after its grace period, for aborted calls to confirm their end.
inline constexpr milliseconds hand_back_patience{5000};

/// Shut down (promise P11): admit no job, let running attempts finish within `grace`, hand the
/// others back to the queue, and flush the store. Leases of workers outside stay live. A job whose
/// call does not confirm its end stays `running` in the store.
struct ShutDown {
  milliseconds grace{};
};
struct ShutdownCompleted {
  std::size_t handed_back = 0;
  std::map<CellKey, std::uint64_t> unconfirmed{};  ///< Calls that may still be running, by cell.
};

// --- From the engine to its observer -----------------------------------------------------------

/// A job has changed to this version, which is stored unless the job has just started to run.
struct JobChanged {
  JobPtr job;
};

/// A dispatcher died after storing changes that it may not have reported. The store has them.
struct ChangesLost {};

}  // namespace cells

CELLS_MESSAGE(SubmitJob)
CELLS_MESSAGE(JobSubmitted)
CELLS_MESSAGE(CancelJob)
CELLS_MESSAGE(CancelAnswered)
CELLS_MESSAGE(ReopenJob)
CELLS_MESSAGE(ReopenAnswered)
CELLS_MESSAGE(DescribeCell)
CELLS_MESSAGE(CellDescribed)
CELLS_MESSAGE(ListCells)
CELLS_MESSAGE(CellsListed)
CELLS_MESSAGE(ResizePool)
CELLS_MESSAGE(ChangeCellState)
CELLS_MESSAGE(ChangeQuota)
CELLS_MESSAGE(Reconfigure)
CELLS_MESSAGE(Reconfigured)
CELLS_MESSAGE(ListServices)
CELLS_MESSAGE(ServicesListed)
CELLS_MESSAGE(ResetService)
CELLS_MESSAGE(KeepEnded)
CELLS_MESSAGE(ShutDown)
CELLS_MESSAGE(ShutdownCompleted)
CELLS_MESSAGE(JobChanged)
CELLS_MESSAGE(ChangesLost)

namespace cells {

/// Receives every change of every job, in order for each job. The first change of a job may arrive
/// before the answer to its submission, which takes another path.
using JobObserver = caf::typed_actor<caf::reacts_to<JobChanged>, caf::reacts_to<ChangesLost>>;

// --- Between the cell dispatcher, a cell, and its two halves -----------------------------------

/// Move the waiting jobs of this customer and product to `between_cells`, a key that no real cell
/// has (cell_key.hpp). Once answered, no such job returns to this cell's queue, not even one that
/// is still running.
struct ReleaseJobs {
  std::string customer;
  std::string product;
};
struct JobsReleased {};

/// Move the waiting jobs of this backlog into this cell; answered once they are moved.
struct TakeOver {
  StoredBacklog from;
};
struct TakenOver {};

/// Jobs of this customer and product need another cell: they were moved to `between_cells` and wait
/// for the cell that the routing names, or they are in another cell and have become runnable.
struct JobsLeft {
  std::string customer;
  std::string product;
};

/// The dispatcher of a cell died and was replaced.
struct CellRestarted {};

/// Run no more jobs than these terms allow. Answered once they are in force.
struct LimitRunning {
  SlotTerms terms;
};
struct RunningLimited {};

/// The part of the cell's pool size that the capacity of the daemon now allows.
struct ChangeGuarantee {
  std::uint32_t guarantee = 0;
};

/// From now on the cell may run `count` jobs beyond its guarantee.
struct SlotsBorrowed {
  std::uint32_t count = 0;
};

/// Put the cell in this state; answered once the state is in force.
struct SetCellState {
  CellState state = CellState::active;
};
struct CellStateSet {};

/// Have this many workers. Answered at once: surplus workers first finish their jobs, and retiring
/// workers count until they have left.
struct Resize {
  std::uint32_t target = 0;
};
struct Resized {};

/// Take up to `count` idle workers off the ready list, so that no further job reaches them.
struct WithdrawIdle {
  std::uint32_t count = 0;
};

/// Report the queue and the workers.
struct DescribeQueue {};
struct QueueDescribed {
  QueueStatus queue;
  std::uint32_t ready = 0;
  std::uint32_t busy = 0;      ///< Workers that have a job and stay; and leases outside.
  std::uint32_t retiring = 0;  ///< Workers that have a job and then leave.
  SlotLoans loans;
};

/// To a service client: make new calls with this provider actor. The old one finishes its calls,
/// then ends.
struct ReplaceProvider {
  ServiceEntry entry;
};

/// Report the status of one service.
struct DescribeService {
  bool reset = false;  ///< First close its circuit, and end a pause.
};
struct ServiceDescribed {
  ServiceStatus status;
};

/// Stop without interrupting a job. The interfaces of the worker, the pool and the cell say what
/// each of them does.
struct GracefulStop {};
/// The last worker of the pool or the cell has left.
struct Stopped {};

/// Start no further job, and refuse new ones.
struct StopDispatching {};
struct DispatchingStopped {};

/// Abort every attempt of a worker inside and hand its job back to the queue, the attempt not
/// counted. Answered once no worker inside has a lease and every end is recorded.
struct HandBack {};
struct HandedBack {
  std::size_t count = 0;
};

/// End every worker at once, busy or not; answered once all are gone.
struct KillWorkers {};
struct WorkersKilled {};

/// Report whether the cell is empty: no unfinished or settling job, and no submission in flight.
struct AskIdle {};
struct IdleAnswered {
  bool idle = false;
};

/// The cell of this dispatcher has been idle for EngineOptions::idle_close.
struct QueueIdle {};
/// This cell has been idle for EngineOptions::idle_close.
struct CellIdle {
  CellKey cell;
};

// --- Between a dispatcher and its workers ------------------------------------------------------

/// Make one attempt at the current step of the job, under this lease.
struct RunJob {
  Lease lease;
  JobPtr job;
  milliseconds timeout{};
  Provider service;
  /// Start the call only after the job's claim is on disk, so that no crash can forget the call.
  bool after_commit = false;
};

/// Abort the attempt under this lease; its end is reported like any other.
struct AbortWork {
  Lease lease;
};

/// The attempt has begun. Its timeout counts from `at`, however late this message is read.
struct JobWorkStarted {
  Lease lease;
  SteadyTime at{};
};

/// The attempt is over: no part of it remains in the daemon.
struct JobWorkCompleted {
  Lease lease;
  CallOutcome outcome;
};

/// This worker is off the ready list. A job that was handed to it has arrived before this message.
struct ReadyWithdrawn {};

/// Do what is due. The actor ignores a tick unless `at` is the time that its timer is armed for.
struct Tick {
  SteadyTime at{};
};

}  // namespace cells

CELLS_MESSAGE(ReleaseJobs)
CELLS_MESSAGE(JobsReleased)
CELLS_MESSAGE(TakeOver)
CELLS_MESSAGE(TakenOver)
CELLS_MESSAGE(JobsLeft)
CELLS_MESSAGE(CellRestarted)
CELLS_MESSAGE(LimitRunning)
CELLS_MESSAGE(RunningLimited)
CELLS_MESSAGE(ChangeGuarantee)
CELLS_MESSAGE(SlotsBorrowed)
CELLS_MESSAGE(SetCellState)
CELLS_MESSAGE(CellStateSet)
CELLS_MESSAGE(Resize)
CELLS_MESSAGE(Resized)
CELLS_MESSAGE(WithdrawIdle)
CELLS_MESSAGE(DescribeQueue)
CELLS_MESSAGE(QueueDescribed)
CELLS_MESSAGE(ReplaceProvider)
CELLS_MESSAGE(DescribeService)
CELLS_MESSAGE(ServiceDescribed)
CELLS_MESSAGE(GracefulStop)
CELLS_MESSAGE(Stopped)
CELLS_MESSAGE(StopDispatching)
CELLS_MESSAGE(DispatchingStopped)
CELLS_MESSAGE(HandBack)
CELLS_MESSAGE(HandedBack)
CELLS_MESSAGE(KillWorkers)
CELLS_MESSAGE(WorkersKilled)
CELLS_MESSAGE(AskIdle)
CELLS_MESSAGE(IdleAnswered)
CELLS_MESSAGE(QueueIdle)
CELLS_MESSAGE(CellIdle)
CELLS_MESSAGE(RunJob)
CELLS_MESSAGE(AbortWork)
CELLS_MESSAGE(JobWorkStarted)
CELLS_MESSAGE(JobWorkCompleted)
CELLS_MESSAGE(ReadyWithdrawn)
CELLS_MESSAGE(Tick)

namespace cells {

/// Makes one attempt at a time, and announces itself whenever it is free. Many per pool.
using JobWorker = caf::typed_actor<
    /// Arrives only after this worker has announced ReadyForJob.
    caf::reacts_to<RunJob>,
    /// Ignored unless the lease is the one in hand.
    caf::reacts_to<AbortWork>,
    /// Withdraws, finishes the job that it has or that is on its way to it, and leaves.
    caf::reacts_to<GracefulStop>,
    /// Leaves, unless it has a job.
    caf::reacts_to<ReadyWithdrawn>>;

/// This worker is free: hand it one job.
struct ReadyForJob {
  JobWorker worker;
};

/// This worker is about to leave: hand it no further job, and confirm.
struct WithdrawReady {
  JobWorker worker;
};

/// These workers were idle, and are off the ready list.
struct IdleWithdrawn {
  std::vector<JobWorker> workers;
};

}  // namespace cells

CELLS_MESSAGE(ReadyForJob)
CELLS_MESSAGE(WithdrawReady)
CELLS_MESSAGE(IdleWithdrawn)

namespace cells {

/// Makes the calls of one service through a provider actor, and replaces one that dies. Hands
/// out the permits for the calls of a protected service; cells take turns. One per service, shared
/// by all cells.
using ServiceClient = Provider::extend<
    /// Starts the new provider actor. The old one finishes its calls, then ends.
    caf::reacts_to<ReplaceProvider>,
    /// Reports the current figures.
    caf::replies_to<DescribeService>::with<ServiceDescribed>,
    /// From a dispatcher.
    caf::reacts_to<LaneFilled>, caf::reacts_to<LaneEmptied>, caf::reacts_to<SlotOffered>,
    caf::reacts_to<PermitOver>,
    /// Hands out the permits that there are now.
    caf::reacts_to<Tick>>;

/// A service as dispatchers use it.
struct Service {
  ServiceClient client;    ///< Null: workers outside lease the service's jobs.
  milliseconds settle{0};  ///< How long the entity is kept after an unknown outcome.
  Protection protection{};
  /// The client from before a reload that made the service a pull service; aborts the calls that it
  /// began.
  ServiceClient former{};
  ActionSet undoes{};  ///< The actions that it can undo.
};
using Services = std::map<std::string, Service>;

/// What the configuration says about a cell.
struct CellConfig {
  CellSettings settings;
  /// The part of the pool size that the capacity of the daemon allows.
  std::uint32_t guarantee = pool_size_max;
  bool closes_when_idle = false;  ///< True for an instance of a template, and while leaving.
  bool leaving = false;           ///< No longer configured: not even an override keeps it open.
  /// Null until a reload changes the routing: every job of the cell runs here. Otherwise only the
  /// jobs that the routing sends here do; the others are released.
  std::shared_ptr<const Routing> routing;
  std::shared_ptr<const Services> services;  ///< Never null.
};

/// Adopt these settings. A cell answers once they are in force.
struct ConfigureCell {
  CellConfig config;
};

}  // namespace cells

CELLS_MESSAGE(ConfigureCell)

namespace cells {

/// Hands out the jobs of one cell; knows the ready workers and the running attempts. One per cell.
using JobDispatcher = caf::typed_actor<
    /// Admits the job within the cell's settings, stores it, and answers.
    caf::replies_to<SubmitJob>::with<JobSubmitted>,
    /// Cancels a waiting job at once; aborts the attempt of a running one.
    caf::replies_to<CancelJob>::with<CancelAnswered>,
    /// Queues an ended job again, if the cell admits new jobs.
    caf::replies_to<ReopenJob>::with<ReopenAnswered>,
    /// Hands the worker a job now, or as soon as there is one.
    caf::reacts_to<ReadyForJob>,
    /// Takes the worker off the ready list, and answers with ReadyWithdrawn.
    caf::reacts_to<WithdrawReady>,
    /// Sets the deadline of the attempt; without this report the attempt never began.
    caf::reacts_to<JobWorkStarted>,
    /// Records the end of the attempt, if its lease is live.
    caf::reacts_to<JobWorkCompleted>,
    /// From now on hands out only jobs that belong here under the new settings.
    caf::reacts_to<ConfigureCell>,
    /// Moves the jobs to `between_cells`.
    caf::replies_to<ReleaseJobs>::with<JobsReleased>,
    /// Moves the jobs here, counts them, and dispatches.
    caf::replies_to<TakeOver>::with<TakenOver>,
    /// Starts no job beyond the terms.
    caf::replies_to<LimitRunning>::with<RunningLimited>,
    /// From the capacity desk: may start more jobs, or has to give slots back.
    caf::reacts_to<GrantSlots>, caf::reacts_to<RecallSlots>,
    /// Admits and starts jobs as the state allows.
    caf::replies_to<SetCellState>::with<CellStateSet>,
    /// Names idle workers and takes them off the ready list.
    caf::replies_to<WithdrawIdle>::with<IdleWithdrawn>,
    /// Reports the current figures.
    caf::replies_to<DescribeQueue>::with<QueueDescribed>,
    /// Hands out no further job, even to workers that are ready.
    caf::replies_to<StopDispatching>::with<DispatchingStopped>,
    /// Aborts the attempts of workers inside; their jobs are queued again.
    caf::replies_to<HandBack>::with<HandedBack>,
    /// Reports whether the cell could close.
    caf::replies_to<AskIdle>::with<IdleAnswered>,
    /// Hands out jobs to a worker outside, within the limit of the cell.
    caf::replies_to<GrantLeases>::with<GrantAnswered>,
    /// Hands out jobs to workers inside, within the limit of the cell.
    caf::replies_to<GrantPermits>::with<PermitsTaken>,
    /// Counts the jobs in the lane.
    caf::replies_to<DescribeLane>::with<LaneDescribed>,
    /// Frees the slot that was offered.
    caf::reacts_to<DeclineSlot>,
    /// Queues the jobs of these leases again.
    caf::reacts_to<ReturnLeases>,
    /// Moves the deadline of a live lease.
    caf::replies_to<ExtendLease>::with<LeaseExtended>,
    /// Records the end of the attempt, if its lease is live.
    caf::replies_to<EndLease>::with<LeaseEnded>,
    /// Aborts what is overdue, advances what has fallen due, and looks for runnable jobs whose
    /// notification was lost.
    caf::reacts_to<Tick>>;

/// Keeps the workers of one cell at their number: spawns, retires and replaces them. One per cell.
using JobWorkerPool = caf::typed_actor<
    /// Spawns missing workers, or retires surplus ones, idle workers first.
    caf::replies_to<Resize>::with<Resized>,
    /// Retires every worker. Answers once the last one has left.
    caf::replies_to<GracefulStop>::with<Stopped>,
    /// Ends every worker, after their dispatcher has died.
    caf::replies_to<KillWorkers>::with<WorkersKilled>>;

/// Joins a dispatcher and a pool under the same settings, and restarts either when it dies.
using Cell = LaneHolder::extend<
    /// Forwarded to the dispatcher.
    caf::replies_to<SubmitJob>::with<JobSubmitted>,
    /// Forwarded to the dispatcher.
    caf::replies_to<CancelJob>::with<CancelAnswered>,
    /// Forwarded to the dispatcher.
    caf::replies_to<ReopenJob>::with<ReopenAnswered>,
    /// Adds the pool size and the settings to the dispatcher's figures.
    caf::replies_to<DescribeCell>::with<CellDescribed>,
    /// Stores the override, then applies it.
    caf::replies_to<ResizePool>::with<CellDescribed>,
    /// Stores the override, then applies it.
    caf::replies_to<ChangeCellState>::with<CellDescribed>,
    /// Stores the override, then applies it.
    caf::replies_to<ChangeQuota>::with<CellDescribed>,
    /// Passes the settings to the dispatcher, and resizes the pool.
    caf::replies_to<ConfigureCell>::with<CellDescribed>,
    /// Passes the terms to the dispatcher, and resizes the pool.
    caf::reacts_to<ChangeGuarantee>,
    /// From the dispatcher; resizes the pool.
    caf::reacts_to<SlotsBorrowed>,
    /// Asks the dispatcher, and asks its successor if it dies.
    caf::replies_to<ReleaseJobs>::with<JobsReleased>,
    /// Asks the dispatcher, and asks its successor if it dies.
    caf::replies_to<TakeOver>::with<TakenOver>,
    /// From the dispatcher; forwarded to the cell dispatcher.
    caf::reacts_to<JobsLeft>,
    /// Starts no further job, and stops the pool. Answers once the last worker has left.
    caf::replies_to<GracefulStop>::with<Stopped>,
    /// Asks the dispatcher, and asks its successor if it dies.
    caf::replies_to<HandBack>::with<HandedBack>,
    /// Forwarded to the dispatcher; a cell with an override is idle only if it is leaving.
    caf::replies_to<AskIdle>::with<IdleAnswered>,
    /// From the dispatcher; reported to the cell dispatcher as CellIdle.
    caf::reacts_to<QueueIdle>>;

/// Brings workers outside together with the cells that have work for them, and knows which leases
/// are out. Decides which cell is asked first: cells take turns at each service. One per daemon.
using LeaseDesk = caf::typed_actor<
    /// Asks cells one after the other; waits if none has work.
    caf::replies_to<RequestLeases>::with<LeasesGranted>,
    /// Answers these requests without a lease. A lease that is on its way to such a request is
    /// returned.
    caf::reacts_to<WithdrawRequests>,
    /// Forwarded to the cells.
    caf::reacts_to<ReturnLeases>,
    /// Forwarded to the cell that granted the lease.
    caf::replies_to<ExtendLease>::with<LeaseExtended>,
    /// Forwarded to the cell that granted the lease.
    caf::replies_to<EndLease>::with<LeaseEnded>,
    /// Looks the lease up.
    caf::replies_to<FindLease>::with<LeaseFound>,
    /// Lists the leases that match.
    caf::replies_to<ListLeases>::with<LeasesListed>,
    /// Counts leases as calls.
    caf::replies_to<DescribeLeases>::with<LeasesDescribed>,
    /// From a dispatcher.
    caf::reacts_to<LaneFilled>, caf::reacts_to<LaneEmptied>, caf::reacts_to<SlotOffered>,
    caf::reacts_to<LeaseKept>, caf::reacts_to<LeaseOver>,
    /// Takes effect with the next lease.
    caf::reacts_to<ChangeLimits>,
    /// Matches the requests that waited for a limit.
    caf::reacts_to<Tick>>;

/// Knows the routing, starts cells, and routes each job to its cell. One per daemon.
using CellDispatcher = caf::typed_actor<
    /// Forwarded to the cell that the routing names, which is started if necessary.
    caf::replies_to<SubmitJob>::with<JobSubmitted>,
    /// Forwarded to the job's cell; a job that is between two cells is cancelled here.
    caf::replies_to<CancelJob>::with<CancelAnswered>,
    /// Forwarded to the cell that the routing names now.
    caf::replies_to<ReopenJob>::with<ReopenAnswered>,
    /// Forwarded to the cell; answered here for a template.
    caf::replies_to<DescribeCell>::with<CellDescribed>,
    /// Asks each cell of the page.
    caf::replies_to<ListCells>::with<CellsListed>,
    /// Forwarded to the cell; for a template, sets the size that new instances start with.
    caf::replies_to<ResizePool>::with<CellDescribed>,
    /// Forwarded to the cell; a template has no state.
    caf::replies_to<ChangeCellState>::with<CellDescribed>,
    /// Forwarded to the cell; for a template, sets the limits that new instances start with.
    caf::replies_to<ChangeQuota>::with<CellDescribed>,
    /// Changes the services, then the settings of every cell, then moves jobs.
    caf::replies_to<Reconfigure>::with<Reconfigured>,
    /// Asks the client of each service.
    caf::replies_to<ListServices>::with<ServicesListed>,
    /// Forwarded to the client of the service.
    caf::replies_to<ResetService>::with<ServicesListed>,
    // For workers outside. Forwarded to the lease desk; with a job, to the cell of the job.
    caf::replies_to<RequestLeases>::with<LeasesGranted>, caf::reacts_to<WithdrawRequests>,
    caf::reacts_to<ReturnLeases>, caf::replies_to<ExtendLease>::with<LeaseExtended>,
    caf::replies_to<EndLease>::with<LeaseEnded>, caf::replies_to<FindLease>::with<LeaseFound>,
    caf::replies_to<ListLeases>::with<LeasesListed>,
    /// From a cell: tells the cell that the routing names to take over the jobs.
    caf::reacts_to<JobsLeft>,
    /// From a cell: after a reload, tells every cell to check its jobs against the routing again.
    caf::reacts_to<CellRestarted>,
    /// Stops every cell gracefully, hands back the jobs that still run after the grace period, and
    /// flushes the store. Waits for no call longer than the grace period and hand_back_patience.
    caf::replies_to<ShutDown>::with<ShutdownCompleted>,
    /// From a cell that closes when it is idle: closes it, unless it has received a job meanwhile.
    /// Its next job starts it again.
    caf::reacts_to<CellIdle>,
    /// The grace period of a ShutDown is over.
    caf::reacts_to<Tick>>;

/// Removes ended jobs from the store some time after their end. One per daemon.
using Retention = caf::typed_actor<
    /// Takes effect at once.
    caf::reacts_to<KeepEnded>,
    /// Takes the next step, or checks whether there is one.
    caf::reacts_to<Tick>>;

}  // namespace cells
