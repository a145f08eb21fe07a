// Every conversation of the engine: its messages, grouped by direction, and its typed interfaces.
// Commands are imperative, events past tense. README.md beside this folder draws the flow.
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

/// Accept this job; answered after it is on disk. Under an idempotency key that was used, nothing
/// is accepted: whose it is comes before every reason to refuse.
struct SubmitJob {
  JobRequest request;
  /// The asker refuses it if its key, which it has, is new: then nothing is accepted.
  bool only_replay = false;
};
struct JobSubmitted {
  JobPtr job;  ///< Null when refused, here or by the asker.
  std::optional<Refusal> refusal;
  bool replayed = false;  ///< The job was there: it was accepted for the same request before.
};

/// End this job, `job` being a recent version of it; answered after that is on disk. One that runs
/// is ended soon, and only marked until then.
struct CancelJob {
  JobPtr job;
};
struct CancelAnswered {
  JobPtr job;             ///< As it stands now; null: it is not kept any more.
  bool accepted = false;  ///< False: it had ended, or was not where `job` says.
};

/// Take up this failed or cancelled job again; answered after that is on disk.
struct ReopenJob {
  JobPtr job;
};
struct ReopenAnswered {
  JobPtr job;             ///< As it stands now; null when refused, or when it is not kept any more.
  bool accepted = false;  ///< False: it has not ended, or has succeeded, or is gone.
  std::optional<Refusal> refusal;
};

/// Tell about one cell.
struct DescribeCell {
  CellKey cell;
};
struct CellDescribed {
  std::optional<CellStatus> status;  ///< None: there is no such cell.
};

/// Tell about the cells after the given one, in order of their keys.
struct ListCells {
  std::optional<CellKey> after;
  std::size_t limit = 50;
  std::optional<std::string> customer{};  ///< Only cells whose key names it; `*` does not.
};
struct CellsListed {
  std::vector<CellStatus> cells;  ///< Without one that has just closed.
  /// Others come after this key, the last of those asked; none: there are no more.
  std::optional<CellKey> more_after;
};

/// Make the pool of a cell this big until told otherwise; none: as configured. Answered after it is
/// on disk and in force: no job starts any more beyond the new size.
struct ResizePool {
  CellKey cell;
  std::optional<std::uint32_t> size;
};

/// Pause a cell, let it drain, or let it go on. Answered after it is on disk and in force.
struct ChangeCellState {
  CellKey cell;
  CellState state = CellState::active;
};

/// A configured service as the engine sees it.
struct ServiceEntry {
  std::function<Provider(caf::actor_system&)> start_provider;
  milliseconds settle{0};  ///< After an unknown outcome, how long the entity is kept.
};

/// Go on with another configuration (promise P12): with these cells, and these services beside
/// those that are neither listed nor gone. Nothing that runs is interrupted. Answered when every
/// job that waits is in the cell that the routing names now. One at a time.
struct Reconfigure {
  std::shared_ptr<const Routing> routing;
  std::map<std::string, ServiceEntry> services;  ///< That are new or have changed.
  std::set<std::string> services_gone;
};
struct Reconfigured {
  /// Services that were to go, and how many unfinished jobs need them. Not empty: nothing changed.
  std::map<std::string, std::uint64_t> needed;
  std::vector<MaskedSize> masked;  ///< In order of their cells.
};

/// Tell about the services.
struct ListServices {};
struct ServicesListed {
  std::map<std::string, ServiceStatus> services;
};

/// Keep ended jobs for so long from now on, and their idempotency keys with them.
struct KeepEnded {
  milliseconds keep{};
};

/// How long a stop waits, beyond the grace, for calls that it has ended to confirm that.
inline constexpr milliseconds hand_back_patience{5000};

/// Stop (promise P11): refuse new jobs, let what runs finish for at most `grace`, hand the rest
/// back to the queue, and flush the store. The job of a call that does not confirm its end stays
/// `running` there.
struct ShutDown {
  milliseconds grace{};
};
struct ShutdownCompleted {
  std::size_t handed_back = 0;
  std::map<CellKey, std::uint64_t> unconfirmed{};  ///< Calls, by the cells of their jobs.
};

// --- From the engine to whoever watches --------------------------------------------------------

/// A job took on this form, and (unless it just began to run) this is on disk.
struct JobChanged {
  JobPtr job;
};

/// Changes may have been told to nobody: a dispatcher died after it had written them down. They are
/// on disk.
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
CELLS_MESSAGE(Reconfigure)
CELLS_MESSAGE(Reconfigured)
CELLS_MESSAGE(ListServices)
CELLS_MESSAGE(ServicesListed)
CELLS_MESSAGE(KeepEnded)
CELLS_MESSAGE(ShutDown)
CELLS_MESSAGE(ShutdownCompleted)
CELLS_MESSAGE(JobChanged)
CELLS_MESSAGE(ChangesLost)

namespace cells {

/// Hears of every change of every job, in order for each job. The first may come before the
/// submitter has its answer, which goes another way.
using JobObserver = caf::typed_actor<caf::reacts_to<JobChanged>, caf::reacts_to<ChangesLost>>;

// --- Between the cell dispatcher, a cell, and its two halves -----------------------------------

/// Let go of the jobs of this customer and product that wait: put them `between_cells`. Answered
/// when that is done, and none that still runs will come back to this cell's queue.
struct ReleaseJobs {
  std::string customer;
  std::string product;
};
struct JobsReleased {};

/// Take the waiting jobs of this route into this cell. Answered when that is done.
struct TakeOver {
  StoredBacklog from;
};
struct TakenOver {};

/// Jobs of this customer and product wait `between_cells`, or have become runnable in another cell.
struct JobsLeft {
  std::string customer;
  std::string product;
};

/// The dispatcher of a cell died and was replaced.
struct CellRestarted {};

/// Start no job any more beyond this many running ones; answered when in force.
struct LimitRunning {
  std::uint32_t max = 0;
};
struct RunningLimited {};

/// Behave so from now on; answered when in force.
struct SetCellState {
  CellState state = CellState::active;
};
struct CellStateSet {};

/// Have this many workers; answered when every step towards it has been begun.
struct Resize {
  std::uint32_t target = 0;
};
struct Resized {};

/// Take up to `count` idle workers off the ready list, so that no job reaches them any more.
struct WithdrawIdle {
  std::uint32_t count = 0;
};

/// Tell about the queue, and who is ready and who runs.
struct DescribeQueue {};
struct QueueDescribed {
  QueueStatus queue;
  std::uint32_t ready = 0;
  std::uint32_t busy = 0;      ///< Workers with a job that are to stay.
  std::uint32_t retiring = 0;  ///< Workers with a job that leave after it.
};

/// To a service client: make calls from now on with this provider; those under way end with the one
/// that began them.
struct ReplaceProvider {
  ServiceEntry entry;
};

/// Tell about one service.
struct DescribeService {};
struct ServiceDescribed {
  ServiceStatus status;
};

/// To a worker: leave, after the job you have. To a pool: let every worker leave. To a cell: start
/// no job any more, and stop the pool. A pool and a cell answer when the last worker has left.
struct GracefulStop {};
struct Stopped {};

/// Start no job any more, and refuse new ones.
struct StopDispatching {};
struct DispatchingStopped {};

/// End every attempt under way and hand its job back to the queue, not counted. Answered when no
/// lease is live and every end is recorded.
struct HandBack {};
struct HandedBack {
  std::size_t count = 0;
};

/// End every worker at once, running or not; answered when all are gone.
struct KillWorkers {};
struct WorkersKilled {};

/// Whether nothing is in the cell: no unfinished or settling job, and no submission under way.
struct AskIdle {};
struct IdleAnswered {
  bool idle = false;
};

/// A dispatcher has had nothing in its cell for a while.
struct QueueRanDry {};
/// A cell, likewise.
struct CellRanDry {
  CellKey cell;
};

// --- Between a dispatcher and its workers ------------------------------------------------------

/// Make one attempt at the current step of the job, under this lease.
struct RunJob {
  Lease lease;
  JobPtr job;
  milliseconds timeout{};
  Provider service;
  /// The call begins when the claim of the job is on disk: no crash forgets that it was made.
  bool after_commit = false;
};

/// End the attempt under this lease before its time; reported like any other end.
struct AbortWork {
  Lease lease;
};

/// The worker begins with what it was handed. Its timeout counts from `at`, however late the
/// dispatcher comes to read this.
struct JobWorkStarted {
  Lease lease;
  SteadyTime at{};
};

/// The attempt is over: nothing of it is left in the daemon.
struct JobWorkCompleted {
  Lease lease;
  CallOutcome outcome;
};

/// You are off the ready list: what was handed to you has reached you by now.
struct ReadyWithdrawn {};

/// Do what is due. `at` tells a superseded tick from the armed one.
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
CELLS_MESSAGE(QueueRanDry)
CELLS_MESSAGE(CellRanDry)
CELLS_MESSAGE(RunJob)
CELLS_MESSAGE(AbortWork)
CELLS_MESSAGE(JobWorkStarted)
CELLS_MESSAGE(JobWorkCompleted)
CELLS_MESSAGE(ReadyWithdrawn)
CELLS_MESSAGE(Tick)

namespace cells {

/// Makes one attempt at a time; announces itself when it is free. Many per pool.
using JobWorker = caf::typed_actor<
    /// Comes only after this worker announced ReadyForJob.
    caf::reacts_to<RunJob>,
    /// Ignored when the lease is not the one at hand.
    caf::reacts_to<AbortWork>,
    /// Withdraws, finishes what it has or what is on its way, leaves.
    caf::reacts_to<GracefulStop>,
    /// Leaves, if it has no job.
    caf::reacts_to<ReadyWithdrawn>>;

/// A worker is free: hand it one job.
struct ReadyForJob {
  JobWorker worker;
};

/// A worker is about to leave: hand it nothing any more, and confirm.
struct WithdrawReady {
  JobWorker worker;
};

/// Workers that were idle and are off the ready list.
struct IdleWithdrawn {
  std::vector<JobWorker> workers;
};

}  // namespace cells

CELLS_MESSAGE(ReadyForJob)
CELLS_MESSAGE(WithdrawReady)
CELLS_MESSAGE(IdleWithdrawn)

namespace cells {

/// Makes the calls of one service with its provider, and restarts that when it dies. One per
/// service, shared by all cells.
using ServiceClient = Provider::extend<
    /// Starts the new provider; the old one goes when its last call has ended.
    caf::reacts_to<ReplaceProvider>,
    /// Counts as of now.
    caf::replies_to<DescribeService>::with<ServiceDescribed>>;

/// A running provider and how its service behaves.
struct Service {
  ServiceClient client;
  milliseconds settle{0};  ///< After an unknown outcome, how long the entity is kept.
};
using Services = std::map<std::string, Service>;

/// What the configuration says of a cell.
struct CellTerms {
  CellSettings settings;
  bool closes_when_dry = false;  ///< An instance of a template; or leaving.
  bool leaving = false;          ///< Not configured any more: not even an override keeps it.
  /// Null, as at the start: every job of the cell is to run there. Else only those that it names
  /// this cell for; the others are released.
  std::shared_ptr<const Routing> routing;
  std::shared_ptr<const Services> services;  ///< Never null.
};

/// Behave so from now on. A cell answers when it is in force.
struct ChangeTerms {
  CellTerms terms;
};

}  // namespace cells

CELLS_MESSAGE(ChangeTerms)

namespace cells {

/// Knows who is ready and who is running; hands out the jobs of one cell. One per cell.
using JobDispatcher = caf::typed_actor<
    /// Admits the job within the quota, stores it, and answers.
    caf::replies_to<SubmitJob>::with<JobSubmitted>,
    /// Ends a waiting job at once; aborts the attempt of a running one.
    caf::replies_to<CancelJob>::with<CancelAnswered>,
    /// Queues an ended job again, within the quota.
    caf::replies_to<ReopenJob>::with<ReopenAnswered>,
    /// Hands the worker a job now, or as soon as there is one.
    caf::reacts_to<ReadyForJob>,
    /// Answers with ReadyWithdrawn.
    caf::reacts_to<WithdrawReady>,
    /// Notes it; one without JobWorkStarted was never begun.
    caf::reacts_to<JobWorkStarted>,
    /// Records the end of the attempt, if its lease is live.
    caf::reacts_to<JobWorkCompleted>,
    /// Hands out from now on what the terms leave it.
    caf::reacts_to<ChangeTerms>,
    /// Puts the jobs where another dispatcher takes them over.
    caf::replies_to<ReleaseJobs>::with<JobsReleased>,
    /// Moves the jobs here, counts them, and dispatches.
    caf::replies_to<TakeOver>::with<TakenOver>,
    /// Holds back from now on what would run beyond the bound.
    caf::replies_to<LimitRunning>::with<RunningLimited>,
    /// Starts jobs, and takes them, as the state says.
    caf::replies_to<SetCellState>::with<CellStateSet>,
    /// Names idle workers and forgets that they were ready.
    caf::replies_to<WithdrawIdle>::with<IdleWithdrawn>,
    /// Counts as of now.
    caf::replies_to<DescribeQueue>::with<QueueDescribed>,
    /// Hands out nothing any more, whoever is ready.
    caf::replies_to<StopDispatching>::with<DispatchingStopped>,
    /// Aborts what runs; its jobs are queued again.
    caf::replies_to<HandBack>::with<HandedBack>,
    /// Says whether its cell could be closed.
    caf::replies_to<AskIdle>::with<IdleAnswered>,
    /// Ends what is overdue, does what has become due, repairs a lost wake-up.
    caf::reacts_to<Tick>>;

/// Knows how many workers there should be; spawns, retires and replaces them. One per cell.
using JobWorkerPool = caf::typed_actor<
    /// Spawns what is missing, retires what is too much, idle workers first.
    caf::replies_to<Resize>::with<Resized>,
    /// Retires everybody.
    caf::replies_to<GracefulStop>::with<Stopped>,
    /// Ends everybody, after their dispatcher has died.
    caf::replies_to<KillWorkers>::with<WorkersKilled>>;

/// Joins a dispatcher and a pool under one quota, and restarts them when one dies.
using Cell = caf::typed_actor<
    /// Goes on to the dispatcher.
    caf::replies_to<SubmitJob>::with<JobSubmitted>,
    /// Goes on to the dispatcher.
    caf::replies_to<CancelJob>::with<CancelAnswered>,
    /// Goes on to the dispatcher.
    caf::replies_to<ReopenJob>::with<ReopenAnswered>,
    /// Adds its size and quota to what the dispatcher counts.
    caf::replies_to<DescribeCell>::with<CellDescribed>,
    /// Writes the override down, then puts it in force.
    caf::replies_to<ResizePool>::with<CellDescribed>,
    /// The same.
    caf::replies_to<ChangeCellState>::with<CellDescribed>,
    /// Passes them on, and resizes the pool.
    caf::replies_to<ChangeTerms>::with<CellDescribed>,
    /// Goes on to the dispatcher; asked again if that dies.
    caf::replies_to<ReleaseJobs>::with<JobsReleased>,
    /// The same.
    caf::replies_to<TakeOver>::with<TakenOver>,
    /// From its dispatcher, goes on to the cell dispatcher.
    caf::reacts_to<JobsLeft>,
    /// Finishes what runs, starts nothing.
    caf::replies_to<GracefulStop>::with<Stopped>,
    /// Goes on to the dispatcher.
    caf::replies_to<HandBack>::with<HandedBack>,
    /// Goes on to the dispatcher; a cell with an override is never idle.
    caf::replies_to<AskIdle>::with<IdleAnswered>,
    /// From its dispatcher.
    caf::reacts_to<QueueRanDry>>;

/// Knows the routing, starts cells, and sends each job to its cell. One per daemon.
using CellDispatcher = caf::typed_actor<
    /// Goes to the cell that the routing names, which is started if need be.
    caf::replies_to<SubmitJob>::with<JobSubmitted>,
    /// Goes to the job's cell; of a job that stands between two cells, it is done here.
    caf::replies_to<CancelJob>::with<CancelAnswered>,
    /// Goes to the cell that the routing names now.
    caf::replies_to<ReopenJob>::with<ReopenAnswered>,
    /// Goes to the cell; a template answers for itself.
    caf::replies_to<DescribeCell>::with<CellDescribed>,
    /// Asks each cell of the page.
    caf::replies_to<ListCells>::with<CellsListed>,
    /// Goes to the cell; on a template it sets what new instances start from.
    caf::replies_to<ResizePool>::with<CellDescribed>,
    /// Goes to the cell; a template has no state.
    caf::replies_to<ChangeCellState>::with<CellDescribed>,
    /// Changes the services, then every cell's terms, then moves jobs.
    caf::replies_to<Reconfigure>::with<Reconfigured>,
    /// Asks each service's client.
    caf::replies_to<ListServices>::with<ServicesListed>,
    /// From a cell: has the cell that the routing names take the jobs over.
    caf::reacts_to<JobsLeft>,
    /// From a cell: looks whether it holds jobs of others.
    caf::reacts_to<CellRestarted>,
    /// Stops every cell gracefully, hands back what is left when the grace is over, flushes. Waits
    /// for no call longer than that and hand_back_patience.
    caf::replies_to<ShutDown>::with<ShutdownCompleted>,
    /// From an instance of a template or a cell that leaves: it may be closed until its next job.
    caf::reacts_to<CellRanDry>,
    /// The grace of a ShutDown is over.
    caf::reacts_to<Tick>>;

/// Removes ended jobs from the store, some time after their end. One per daemon.
using Retention = caf::typed_actor<
    /// Goes by it at once.
    caf::reacts_to<KeepEnded>,
    /// Takes the next step, or looks whether there is one.
    caf::reacts_to<Tick>>;

}  // namespace cells
