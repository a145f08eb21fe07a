#include "cells/actors/job_dispatcher.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "cells/actors/attempt_end.hpp"
#include "cells/actors/job_dispatcher_actor.hpp"

namespace cells {
namespace {

/// Why the lease of a worker outside has timed out.
std::string silence_of(const Job& job) {
  return "the worker " + job.steps[job.step].worker +
         " sent neither a heartbeat nor a report for " + std::to_string(job.spec->timeout.count()) +
         " ms";
}

}  // namespace

JobDispatcherActor::JobDispatcherActor(caf::actor_config& config, ContextPtr context, CellKey key,
                                       DispatcherSetup setup)
    : JobDispatcher::base(config),
      context_(std::move(context)),
      key_(std::move(key)),
      config_(std::move(setup.config)),
      slots_(setup.terms),
      state_(setup.state),
      cell_(std::move(setup.cell)),
      queue_(context_->options.window, {}, context_->window_budget),
      random_(context_->options.seed ^ id()) {
  adopt_settings();
  set_down_handler([this](caf::down_msg& down) { worker_down(down.source.id()); });
}

JobDispatcher::behavior_type JobDispatcherActor::make_behavior() {
  context_->options.probe->spawned("dispatcher", key_, caf::actor_cast<caf::actor>(this));
  load_cell();
  return {
      // CAF tries the handlers in this order, so those that each job needs come first.
      [this](SubmitJob& message) { return submit(message.request); },
      [this](const ReadyForJob& message) { worker_ready(message.worker); },
      [this](const JobWorkStarted& message) { work_started(message); },
      [this](JobWorkCompleted& message) { completed(message.lease, message.outcome); },
      [this](const GrantLeases& message) { return grant(message); },
      [this](EndLease& message) { return end_lease(message); },
      [this](const CancelJob& message) { return cancel(message.job->id); },
      [this](const ReopenJob& message) { return reopen_job(message.job); },
      [this](const WithdrawReady& message) { withdraw(message.worker); },
      [this](ConfigureCell& message) { change_terms(message); },
      [this](const ReleaseJobs& message) { return release(message); },
      [this](const TakeOver& message) { return take_over(message.from); },
      [this](const LimitRunning& message) {
        slots_.change(message.terms);
        idle_reported_ = false;  // The override that kept the cell open may be gone.
        const Now at = now();
        dispatch(at);
        arm(at);
        return RunningLimited{};
      },
      [this](const GrantSlots& message) {
        slots_.grant(message.count);
        const Now at = now();
        dispatch(at);
        arm(at);
      },
      [this](const RecallSlots& message) {
        slots_.recall(message.to);
        dispatch(now());
      },
      [this](const SetCellState& message) {
        state_ = message.state;
        idle_reported_ = false;
        const Now at = now();
        dispatch(at);
        arm(at);
        return CellStateSet{};
      },
      [this](const WithdrawIdle& message) {
        return IdleWithdrawn{workers_.withdraw_idle(message.count)};
      },
      [this](const DescribeQueue&) { return describe(); },
      [this](const StopDispatching&) {
        stopping_ = true;
        return DispatchingStopped{};
      },
      [this](const HandBack&) { return hand_back(); },
      [this](const AskIdle&) { return answer_idle(); },
      [this](const GrantPermits& message) { return take_permits(message); },
      [this](const DescribeLane& message) { return describe_lane(message.service); },
      [this](const DeclineSlot& message) { decline_slot(message.service); },
      [this](const ReturnLeases& message) { return_leases(message.leases); },
      [this](const ExtendLease& message) { return extend(message); },
      [this](const Tick& message) { tick(message.at); },
  };
}

void JobDispatcherActor::on_exit() {
  cell_ = nullptr;
  workers_.clear();
  handed_back_.fail();
  for (auto& [id, promise] : submitting_) {
    promise.deliver(caf::make_error(caf::sec::request_receiver_down));
  }
  submitting_.clear();
  for (auto& [id, answers] : cancelling_) answers.fail();
  for (auto& [backlog, move] : releasing_) move.answers.fail();
  for (auto& [backlog, move] : taking_over_) move.answers.fail();
  for (auto& [place, promise] : reopening_) {
    promise.deliver(caf::make_error(caf::sec::request_receiver_down));
  }
  granting_.fail();
  for (auto& [id, ending] : ending_) ending.answers.fail();
  context_ = nullptr;
}

// --- Starting ------------------------------------------------------------------------------------

/// All other messages wait until the store has answered.
void JobDispatcherActor::load_cell() {
  request(store(), caf::infinite, LoadCell{key_, durability()})
      .await([this](CellLoaded& loaded) { cell_loaded(loaded); },
             [this](const caf::error& error) { quit(error); });
}

/// The attempts of workers inside have lost their workers: the dispatcher aborts them first. Leases
/// of workers outside stay live, and their timeout starts again.
void JobDispatcherActor::cell_loaded(CellLoaded& loaded) {
  counts_ = loaded.counts;
  next_due_ = loaded.next_due;
  const Now at = now();
  for (auto& job : loaded.running) {
    const bool outside = !job->steps[job->step].worker.empty();
    if (outside) {
      keep_lease(job, at);
    } else {
      leases_.add(job->lease, {job, at.steady, at.steady, AbortCause::worker_lost, true, 0});
      begin_running(job->spec->customer);
      end_orphan(job->lease);
    }
  }
  join_capacity();
  if (loaded.runnable) queue_.expect_more();
  for (const auto& name : loaded.lanes) lane(name).queue.expect_more();
  may_hold_ = loaded.held;
  release_holds();
  fetch();
  arm(at);
}

// --- Workers -------------------------------------------------------------------------------------

void JobDispatcherActor::worker_ready(const JobWorker& worker) {
  if (workers_.announce(worker)) monitor(worker);
  dispatch(now());
}

void JobDispatcherActor::withdraw(const JobWorker& worker) {
  workers_.withdraw(worker);
  send(worker, ReadyWithdrawn{});
}

/// A worker left or died. If it had a job, its attempt is aborted before anything else happens to
/// the job.
void JobDispatcherActor::worker_down(caf::actor_id id) {
  const Lease lease = workers_.remove(id).value_or(Lease{});
  LiveLease* live = leases_.find(lease);
  if (!live) return;
  live->worker = 0;
  if (live->abort == AbortCause::none) {
    leases_.abort(lease, live->started ? AbortCause::worker_lost : AbortCause::hand_back);
  }
  end_orphan(lease);
}

/// The timeout counts from here, so that waiting for the claim to reach the disk uses none of it.
void JobDispatcherActor::work_started(const JobWorkStarted& begun) {
  const LiveLease* live = leases_.find(begun.lease);
  if (!live) return;
  leases_.start(begun.lease, begun.at + live->job->spec->timeout);
  arm(now());
}

/// Aborts the attempt of a lease whose worker is gone; repeated until the abort is confirmed.
void JobDispatcherActor::end_orphan(Lease lease) {
  const LiveLease& live = *leases_.find(lease);
  const Service* service = find_service(*live.job);
  const ServiceClient client = !service          ? ServiceClient{}
                               : service->client ? service->client
                                                 : service->former;
  if (!client) {  // A service that is not configured, or that workers outside serve, has no calls.
    orphan_ended(lease);
    return;
  }
  request(client, caf::infinite, AbortCall{lease})
      .then([this](const CallAborted& aborted) { orphan_ended(aborted.lease); },
            [this, lease](const caf::error&) {
              if (leases_.find(lease)) orphans_.insert(lease);
              arm(now());
            });
}

void JobDispatcherActor::orphan_ended(Lease lease) {
  CallOutcome outcome;
  outcome.kind = CallOutcome::Kind::aborted;
  completed(lease, outcome);
}

// --- Dispatching ---------------------------------------------------------------------------------

void JobDispatcherActor::dispatch(const Now& at) {
  context_->options.probe->window_holds(key_, queue_.size());
  empty_foreign_lanes();
  while (may_start() && has_free_slot()) {
    const bool inside = workers_.any_ready() && !queue_.empty();
    auto* const outside = first_wanting_lane();
    if (outside && (!inside || goes_before_inside(*outside))) {
      offer_slot(*outside);
    } else if (inside) {
      start_inside(at);
    } else {
      break;
    }
  }
  seek_wanted();
  report_lanes();
  adjust_slots();
  fetch();
}

void JobDispatcherActor::start_inside(const Now& at) {
  if (!lanes_.empty()) inside_served_ = ++served_;
  const JobPtr job = queue_.take();
  if (can_start(job, queue_, at)) hand_out(job, Permit::none, at);
}

/// Whether this job, just taken from the queue, may start. Deals with a job that may not: one that
/// is being cancelled, has expired, follows a failed job, belongs to another cell or lane, or needs
/// a service or an undo that is not configured.
bool JobDispatcherActor::can_start(const JobPtr& job, DispatchQueue& queue, const Now& at) {
  const auto expiry = expiry_of(*job);
  const bool expired = expiry && *expiry <= at.wall;
  const bool falls = falls_with_predecessor(*job);
  const bool in_place = job->lane == lane_of(*job);
  const bool ours = !in_hand(job->id) && is_ours(*job->spec);
  const bool lacking = lacks_service(*job);
  if (ours && !expired && !falls && in_place && !lacking) return true;
  queue.ended(job->spec->customer, microseconds{0});
  if (expired) {
    expire(job, at);
  } else if (falls) {
    cancel_follower(job, at);
  } else if (!in_place && !in_hand(job->id)) {
    change_lane(job);
  } else if (ours) {
    send(store(), HoldJob{job->id});
    context_->options.probe->job_held(*job);
    may_hold_ = true;
  }
  return false;
}

/// Whether the job has to wait for a configuration with its service, or with the undo that it
/// needs.
bool JobDispatcherActor::lacks_service(const Job& job) const {
  const Service* service = find_service(job);
  return !service || (is_compensating(job) && !service->undoes.contains(job.spec->action));
}

/// False in a cell that is no longer configured: its jobs move elsewhere or wait for another
/// configuration, and fetching them here would repeat without end.
bool JobDispatcherActor::starts_jobs() const {
  return !stopping_ && !config_.leaving;
}

/// Whether the next start of celld has to know that the call may have begun: to keep the entity, or
/// to undo what the call may have done.
bool JobDispatcherActor::must_know_of_call(const Job& job, const Service& service) {
  return service.settle > milliseconds{0} || may_undo(job, job.step);
}

/// Hands the job to a worker that is ready.
Lease JobDispatcherActor::hand_out(const JobPtr& job, Permit permit, const Now& at) {
  const Service* service = find_service(*job);
  const bool after_commit =
      must_know_of_call(*job, *service) && job->durability == Durability::disk;
  const SteadyTime deadline = after_commit ? SteadyTime::max() : at.steady + job->spec->timeout;
  const Lease lease = context_->leases.next();
  const JobWorker& worker = workers_.assign(lease);
  LiveLease entry;
  entry.deadline = deadline;
  entry.worker = worker->id();
  entry.permit = permit;
  const JobPtr running = lease_out(job, lease, std::move(entry), "", at);
  send(worker, RunJob{lease, running, running->spec->timeout, service->client, after_commit});
  arm(at);
  return lease;
}

/// Makes the job run under the lease. `worker` is the name of the worker outside that gets it;
/// empty: a worker inside gets it.
JobPtr JobDispatcherActor::lease_out(const JobPtr& job, Lease lease, LiveLease entry,
                                     const std::string& worker, const Now& at) {
  const auto running = std::make_shared<const Job>(start_attempt(*job, lease, at.wall, worker));
  entry.job = running;
  entry.handed_out_at = at.steady;
  entry.outside = !worker.empty();
  if (const Service* service = find_service(*job)) entry.settle = service->settle;
  const auto& customer = job->spec->customer;
  if (!lanes_.empty()) {
    entry.charged_us = shares_.begin(customer, config_.settings.weights.weight_of(customer));
  }
  leases_.add(lease, std::move(entry));
  count(job.get(), running.get());
  begin_running(customer);
  context_->options.probe->handed_out(*running, leases_.size(), slots_.limit());
  if (!job->started_at) {
    const auto waited = std::max(at.wall - job->run_at, milliseconds{0});
    context_->options.probe->first_attempt_began(*running, waited);
  }
  send(store(), ClaimJob{running});
  tell(*context_, running);
  return running;
}

/// A report whose lease is not live changes nothing (promise P3).
void JobDispatcherActor::completed(Lease lease, CallOutcome& outcome,
                                   std::optional<StepReport> report) {
  if (!leases_.find(lease)) {
    context_->options.probe->stale_report(key_, lease);
    return;
  }
  const Now at = now();
  const LiveLease live = leases_.remove(lease);
  workers_.release(live.worker);
  const auto cause = cause_of(outcome, live.abort);
  charge(live, sign_of(outcome, cause), at);
  end_running(live.job->spec->customer);
  const Service* service = find_service(*live.job);
  auto end = attempt_end(std::move(outcome), live.abort, *live.job->spec,
                         service && service->protection.circuit);
  if (live.outside && live.abort == AbortCause::timeout) end.message = silence_of(*live.job);
  end.report = report;
  end.is_probe = live.permit == Permit::probe;
  const auto lane = lanes_.find(live.job->lane);
  if (end.is_probe && end.kind != AttemptEnd::Kind::succeeded && lane != lanes_.end()) {
    lane->second.failed_probes.insert(live.job->id);
  }
  end.never_began = !live.started;
  context_->options.probe->attempt_ended(*live.job, end.kind, cause,
                                         at.steady - live.handed_out_at);
  auto after =
      std::make_shared<Job>(end_attempt(*live.job, std::move(end), retry_inputs(live), at.wall));
  after->lane = lane_of(*after);
  context_->options.probe->lease_ended(*live.job, *after, live.abort);
  record(live.job, after);
  dispatch(at);
  answer_handed_back();
}

/// A call that never began leaves nothing to settle, unless an earlier one has begun an operation.
/// A reload does not shorten the time of a call that began before it.
RetryInputs JobDispatcherActor::retry_inputs(const LiveLease& live) {
  const Service* service = find_service(*live.job);
  const auto settle = std::max(live.settle, service ? service->settle : milliseconds{0});
  const double random = std::uniform_real_distribution<double>{0, 1}(random_);
  const bool acts = live.started || !live.job->steps[live.job->step].operation.empty();
  return {config_.settings.retry, acts ? settle : milliseconds{0}, random};
}

/// Stores the next version of a job, and reports the change once it is stored. If that fails, the
/// report of a worker outside is answered only when this actor ends: its lease may be live at the
/// next start, so the worker must not take it for lost.
void JobDispatcherActor::record(const JobPtr& before, const JobPtr& after) {
  count(before.get(), after.get());
  recording_.insert(after->id);
  request(store(), caf::infinite, RecordJob{before->lease, after})
      .then([this, after](const JobRecorded& result) { recorded(after, result); },
            [this, id = after->id](const caf::error&) {
              store_failed();
              recording_done(id);
              answer_handed_back();
            });
}

/// A failed write may or may not be on disk, and the daemon is about to exit. A job whose state is
/// in doubt must not run again before the next start has read the store.
void JobDispatcherActor::store_failed() {
  stopping_ = true;
}

void JobDispatcherActor::recorded(const JobPtr& after, const JobRecorded& result) {
  if (!result.applied) {  // This actor's state contradicts the store: its successor starts afresh.
    quit(caf::make_error(caf::sec::runtime_error, "a record was refused as stale"));
    return;
  }
  const Now at = now();
  tell(*context_, after);
  if (auto ending = ending_.extract(after->id)) ending.mapped().answers.deliver(LeaseEnded{true});
  recording_done(after->id);
  if (is_ended(after->state)) note_ended(*after, at);
  note_due(*after);
  if (!is_ended(after->state) && !is_ours(*after->spec)) {
    hand_over(*after);
  } else if (result.runnable) {
    offer(after);
  }
  if (result.promoted) offer(result.promoted);
  if (result.follower && falls_with_predecessor(*result.follower)) {
    cancel_follower(result.follower, at);
  }
  dispatch(at);
  arm(at);
  answer_handed_back();
}

/// Begins a cancellation that was requested while the job was neither running nor waiting.
void JobDispatcherActor::recording_done(JobId id) {
  recording_.erase(id);
  if (cancelling_.contains(id)) begin_cancel(id);
}

/// A job has become runnable; it is not offered if another change to it has begun meanwhile.
void JobDispatcherActor::offer(const JobPtr& job) {
  if (job->cell != key_) {
    report_left(*job);
  } else if (!in_hand(job->id)) {
    queue_of(job->lane).offer(job);
  }
}

/// Fetches what the windows are missing.
void JobDispatcherActor::fetch() {
  if (!starts_jobs()) return;
  fetch_for("", queue_);
  for (auto& [name, lane] : lanes_) fetch_for(name, lane.queue);
}

void JobDispatcherActor::fetch_for(const std::string& lane, DispatchQueue& queue) {
  const auto wanted = queue.next_fetch();
  if (!wanted) return;
  request(store(), caf::infinite,
          FetchRunnable{key_, wanted->customer, wanted->after, wanted->customers_max,
                        wanted->jobs_max, wanted->bytes_max, lane, durability(),
                        config_.settings.priority_step, wanted->except})
      .then([this, lane](RunnableFetched& answer) { fetched(lane, answer); },
            [this, lane](const caf::error&) { queue_of(lane).fetch_failed(); });
}

void JobDispatcherActor::fetched(const std::string& lane, RunnableFetched& answer) {
  const Now at = now();
  std::vector<DispatchQueue::Fetched> customers;
  customers.reserve(answer.customers.size());
  for (auto& customer : answer.customers) {
    for (const auto& job : customer.jobs) {
      if (falls_with_predecessor(*job)) cancel_follower(job, at);
    }
    customers.push_back(
        {std::move(customer.customer), std::move(customer.jobs), customer.complete});
  }
  queue_of(lane).fetched(std::move(customers), answer.complete,
                         [this](JobId id) { return in_hand(id); });
  grant_sought(lane);
  dispatch(at);
}

// --- Quotas --------------------------------------------------------------------------------------

void JobDispatcherActor::adopt_settings() {
  const auto& settings = config_.settings;
  each_queue([terms = terms()](DispatchQueue& queue) { queue.set_terms(terms); });
  rates_.limit(settings.submissions, settings.customer.submissions, now().steady);
  running_.limit(settings.customer.running_max);
  if (room() == CustomerRoom{}) customer_end_rates_.clear();
  for (const auto& [customer, jobs] : running_.running()) {
    each_queue([this, &name = customer](DispatchQueue& queue) {
      running_.is_reached(name) ? queue.block(name) : queue.unblock(name);
    });
  }
}

DispatchTerms JobDispatcherActor::terms() const {
  const auto& settings = config_.settings;
  return {settings.weights, settings.priority_step, settings.customer.running_max};
}

template <class Change>
void JobDispatcherActor::each_queue(const Change& change) {
  change(queue_);
  for (auto& [name, lane] : lanes_) change(lane.queue);
}

void JobDispatcherActor::begin_running(const std::string& customer) {
  running_.begin(customer);
  if (!running_.is_reached(customer)) return;
  each_queue([&customer](DispatchQueue& queue) { queue.block(customer); });
}

void JobDispatcherActor::end_running(const std::string& customer) {
  const bool was_reached = running_.is_reached(customer);
  running_.end(customer);
  if (!was_reached || running_.is_reached(customer)) return;
  each_queue([&customer](DispatchQueue& queue) { queue.unblock(customer); });
}

// --- Stopping and reporting ----------------------------------------------------------------------

caf::result<HandedBack> JobDispatcherActor::hand_back() {
  stopping_ = true;
  for (const Lease& lease : leases_.all()) {
    const LiveLease& live = *leases_.find(lease);
    if (live.outside || live.abort != AbortCause::none) continue;
    handed_back_count_ += 1;
    abort(lease, AbortCause::hand_back);
  }
  auto promise = handed_back_.add(make_response_promise<HandedBack>());
  answer_handed_back();
  return promise;
}

void JobDispatcherActor::answer_handed_back() {
  if (handed_back_.empty() || leases_.size() > leases_.outside() || !recording_.empty()) return;
  handed_back_.deliver(HandedBack{handed_back_count_});
}

bool JobDispatcherActor::is_idle() const {
  return counts_.unfinished() == 0 && submitting_.empty() && leases_.size() == 0 &&
         recording_.empty() && !next_due_ && !advancing_ && releasing_.empty() &&
         taking_over_.empty();
}

/// If a job has arrived since the cell was reported idle, the next idle time is reported again.
IdleAnswered JobDispatcherActor::answer_idle() {
  if (!is_idle()) idle_reported_ = false;
  return {is_idle()};
}

QueueDescribed JobDispatcherActor::describe() {
  const Now at = now();
  QueueDescribed described;
  described.queue.counts = counts_;
  described.queue.submitted_per_s = submitted_rate_.per_second(at.steady);
  described.queue.finished_per_s = finished_rate_.per_second(at.steady);
  const std::size_t most = slots_.limit();
  const auto free = most - std::min(most, leases_.size());
  described.ready = static_cast<std::uint32_t>(std::min(workers_.ready(), free));
  described.busy = static_cast<std::uint32_t>(workers_.with_job(false) + leases_.outside());
  described.retiring = static_cast<std::uint32_t>(workers_.with_job(true));
  described.loans = slots_.loans();
  return described;
}

// --- Helpers -------------------------------------------------------------------------------------

const Service* JobDispatcherActor::find_service(const Job& job) const {
  const auto found = config_.services->find(job.spec->services[job.step]);
  return found == config_.services->end() ? nullptr : &found->second;
}

void JobDispatcherActor::count(const Job* before, const Job* after) {
  const bool stays = after && !is_ended(after->state);
  if (before) counts_[before->state] -= 1;
  if (stays) counts_[after->state] += 1;
  if (before && !stays) counts_.bytes -= queued_bytes(*before->spec);
  if (!before && stays) counts_.bytes += queued_bytes(*after->spec);
}

JobDispatcher spawn_job_dispatcher(caf::actor_system& system, ContextPtr context, CellKey key,
                                   DispatcherSetup setup) {
  return system.spawn<JobDispatcherActor>(std::move(context), std::move(key), std::move(setup));
}

}  // namespace cells
