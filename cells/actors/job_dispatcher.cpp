#include "cells/actors/job_dispatcher.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "cells/actors/attempt_end.hpp"
#include "cells/actors/owed_answers.hpp"
#include "cells/actors/worker_roster.hpp"
#include "cells/model/admission.hpp"
#include "cells/model/dispatch_queue.hpp"
#include "cells/model/job_machine.hpp"
#include "cells/model/lease_table.hpp"
#include "cells/model/rate_meter.hpp"

namespace cells {
namespace {

/// How many due jobs are moved by one store operation.
constexpr std::size_t due_batch_max = 256;
/// How long a wall-clock time may be slept through: a jump of that clock is noticed by then.
constexpr milliseconds wall_check{1000};

/// Owns the leases of its cell and a window of its queue; knows workers only as ready or running,
/// and nothing of how many there should be but the bound it was given.
class JobDispatcherActor : public JobDispatcher::base {
 public:
  JobDispatcherActor(caf::actor_config& config, ContextPtr context, CellKey key, CellQuota quota,
                     std::uint32_t running_max, Cell cell)
      : JobDispatcher::base(config),
        context_(std::move(context)),
        key_(std::move(key)),
        quota_(quota),
        running_max_(running_max),
        cell_(std::move(cell)),
        queue_(context_->options.window),
        random_(context_->options.seed ^ id()) {
    set_down_handler([this](caf::down_msg& down) { worker_down(down.source.id()); });
  }

  behavior_type make_behavior() override {
    context_->options.probe->spawned("dispatcher", key_, caf::actor_cast<caf::actor>(this));
    take_up();
    return {
        [this](SubmitJob& message) { return submit(message.request); },
        [this](const ReadyForJob& message) { worker_ready(message.worker); },
        [this](const WithdrawReady& message) { withdraw(message.worker); },
        [this](const JobWorkStarted& message) {
          if (LiveLease* live = leases_.find(message.lease)) live->started = true;
        },
        [this](JobWorkCompleted& message) { completed(message.lease, message.outcome); },
        [this](const LimitRunning& message) {
          running_max_ = message.max;
          told_dry_ = false;  // The override that kept its cell may be gone.
          const Now at = now();
          dispatch(at);
          arm(at);
          return RunningLimited{};
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
        [this](const AskIdle&) { return IdleAnswered{is_idle()}; },
        [this](const Tick& message) { tick(message.at); },
    };
  }

  void on_exit() override {
    cell_ = nullptr;
    workers_.clear();
    handed_back_.fail();
    for (auto& [id, promise] : submitting_) {
      promise.deliver(caf::make_error(caf::sec::request_receiver_down));
    }
    submitting_.clear();
    context_ = nullptr;
  }

 private:
  Now now() { return read_clocks(*this, *context_); }
  const JobStore& store() const { return context_->options.store; }

  // --- Starting --------------------------------------------------------------------------------

  /// Everything else waits in the mailbox until the store has answered.
  void take_up() {
    request(store(), caf::infinite, LoadCell{key_})
        .await([this](CellLoaded& loaded) { taken_up(loaded); },
               [this](const caf::error& error) { quit(error); });
  }

  /// Jobs that were running have an attempt under way that nobody waits for: it is ended first.
  void taken_up(CellLoaded& loaded) {
    counts_ = loaded.counts;
    next_due_ = loaded.next_due;
    const Now at = now();
    for (auto& job : loaded.running) {
      leases_.add(job->lease, {job, at.steady, at.steady, AbortCause::worker_lost, true, 0});
      end_orphan(job->lease);
    }
    if (loaded.runnable) queue_.expect_more();
    fetch();
    arm(at);
  }

  // --- Submissions -----------------------------------------------------------------------------

  caf::result<JobSubmitted> submit(JobRequest& request_in) {
    const Now at = now();
    if (auto refusal = refuse(request_in, at)) return JobSubmitted{nullptr, std::move(refusal)};
    const JobId id = context_->ids.next(at.wall);
    auto job =
        std::make_shared<const Job>(accept_job(std::move(request_in), key_, quota_, id, at.wall));
    count(nullptr, job.get());
    submitted_rate_.count(at.steady);
    auto promise = make_response_promise<JobSubmitted>();
    submitting_.emplace(id, promise);
    request(store(), caf::infinite, InsertJob{job})
        .then([this, job](const JobInserted& stored) { inserted(job, stored.runnable); },
              [this, job](caf::error& error) {
                count(job.get(), nullptr);
                submitting_.extract(job->id).mapped().deliver(std::move(error));
              });
    return promise;
  }

  std::optional<Refusal> refuse(const JobRequest& request_in, const Now& at) {
    if (stopping_) return Refusal{Refusal::Kind::draining, key_, 0, 0, std::chrono::seconds{1}};
    if (auto refusal = refuse_timeout(key_, request_in.spec.timeout, quota_.timeout_max)) {
      return refusal;
    }
    return refuse_full(key_, counts_.unfinished(), quota_.jobs_max,
                       finished_rate_.per_second(at.steady));
  }

  void inserted(const JobPtr& job, bool runnable) {
    submitting_.extract(job->id).mapped().deliver(JobSubmitted{job, std::nullopt});
    tell(*context_, job);
    const Now at = now();
    note_due(*job);
    if (runnable) offer(job);
    dispatch(at);
    arm(at);
  }

  // --- Workers ---------------------------------------------------------------------------------

  void worker_ready(const JobWorker& worker) {
    if (workers_.announce(worker)) monitor(worker);
    dispatch(now());
  }

  void withdraw(const JobWorker& worker) {
    workers_.withdraw(worker);
    send(worker, ReadyWithdrawn{});
  }

  /// A worker left, or died. If it had a job, its attempt is ended before anything else happens to
  /// that job.
  void worker_down(caf::actor_id id) {
    const Lease lease = workers_.remove(id).value_or(Lease{});
    LiveLease* live = leases_.find(lease);
    if (!live) return;
    live->worker = 0;
    if (live->abort == AbortCause::none) {
      leases_.abort(lease, live->started ? AbortCause::worker_lost : AbortCause::hand_back);
    }
    end_orphan(lease);
  }

  /// Ends the attempt of a lease whose worker is gone. Asked again until it is confirmed.
  void end_orphan(Lease lease) {
    const LiveLease& live = *leases_.find(lease);
    const Service* service = find_service(*live.job);
    if (!service) {  // It is not configured any more, so nothing can be under way at it.
      orphan_ended(lease);
      return;
    }
    request(service->client, caf::infinite, AbortCall{lease})
        .then([this](const CallAborted& aborted) { orphan_ended(aborted.lease); },
              [this, lease](const caf::error&) {
                if (leases_.find(lease)) orphans_.insert(lease);
                arm(now());
              });
  }

  void orphan_ended(Lease lease) {
    CallOutcome outcome;
    outcome.kind = CallOutcome::Kind::aborted;
    completed(lease, outcome);
  }

  // --- Dispatching -----------------------------------------------------------------------------

  void dispatch(const Now& at) {
    while (workers_.any_ready() && leases_.size() < running_max_ && !stopping_) {
      const JobPtr job = queue_.take();
      if (!job) break;
      hand_out(job, at);
    }
    fetch();
  }

  void hand_out(const JobPtr& job, const Now& at) {
    const Service* service = find_service(*job);
    if (!service) {
      queue_.ended(job->spec->customer, microseconds{0});
      send(store(), HoldJob{job->id});
      return;
    }
    const Lease lease = context_->leases.next();
    const JobWorker& worker = workers_.assign(lease);
    const auto running = std::make_shared<const Job>(start_attempt(*job, lease, at.wall));
    const milliseconds timeout = running->spec->timeout;
    leases_.add(lease,
                {running, at.steady, at.steady + timeout, AbortCause::none, false, worker->id()});
    count(job.get(), running.get());
    context_->options.probe->handed_out(*running, leases_.size(), running_max_);
    send(store(), ClaimJob{running});
    send(worker, RunJob{lease, running, timeout, service->client});
    tell(*context_, running);
    arm(at);
  }

  /// An attempt is over. A report whose lease is not live changes nothing (promise P3).
  void completed(Lease lease, CallOutcome& outcome) {
    if (!leases_.find(lease)) {
      context_->options.probe->stale_report(key_, lease);
      return;
    }
    const Now at = now();
    const LiveLease live = leases_.remove(lease);
    workers_.release(live.worker);
    queue_.ended(live.job->spec->customer, at.steady - live.handed_out_at);
    auto end = attempt_end(std::move(outcome), live.abort, *live.job->spec);
    const auto after = std::make_shared<const Job>(
        end_attempt(*live.job, std::move(end), terms(*live.job), at.wall));
    context_->options.probe->lease_ended(*live.job, *after, live.abort);
    record(live.job, after);
    dispatch(at);
    answer_handed_back();
  }

  RetryTerms terms(const Job& job) {
    const Service* service = find_service(job);
    const double random = std::uniform_real_distribution<double>{0, 1}(random_);
    return {quota_.retry, service ? service->settle : milliseconds{0}, random};
  }

  /// Writes down the next version of a job; it takes effect for others when it is on disk.
  void record(const JobPtr& before, const JobPtr& after) {
    count(before.get(), after.get());
    recording_.insert(after->id);
    request(store(), caf::infinite, RecordJob{before->lease, after})
        .then([this, after](const JobRecorded& result) { recorded(after, result); },
              [this, id = after->id](const caf::error&) {
                recording_.erase(id);
                answer_handed_back();
              });
  }

  void recorded(const JobPtr& after, const JobRecorded& result) {
    recording_.erase(after->id);
    if (!result.applied) {  // What is known here is not what is stored: start again from that.
      quit(caf::make_error(caf::sec::runtime_error, "a record was refused as stale"));
      return;
    }
    const Now at = now();
    tell(*context_, after);
    if (is_ended(after->state)) finished_rate_.count(at.steady);
    note_due(*after);
    if (after->state == JobState::queued) offer(after);
    if (result.promoted) offer(result.promoted);
    dispatch(at);
    arm(at);
    answer_handed_back();
  }

  /// A job became runnable. One that has meanwhile been decided about is not offered.
  void offer(const JobPtr& job) {
    if (job->cell == key_ && !in_hand(job->id)) queue_.offer(job);
  }

  bool in_hand(JobId id) const { return leases_.has_job(id) || recording_.contains(id); }

  /// Asks the store for what the window misses.
  void fetch() {
    const auto wanted = stopping_ ? std::nullopt : queue_.next_fetch();
    if (!wanted) return;
    request(store(), caf::infinite,
            FetchRunnable{key_, wanted->customer, wanted->after, wanted->customers_max,
                          wanted->jobs_max, wanted->bytes_max})
        .then([this](RunnableFetched& answer) { fetched(answer); },
              [this](const caf::error&) { queue_.fetch_failed(); });
  }

  void fetched(RunnableFetched& answer) {
    std::vector<DispatchQueue::Fetched> customers;
    customers.reserve(answer.customers.size());
    for (auto& customer : answer.customers) {
      customers.push_back(
          {std::move(customer.customer), std::move(customer.jobs), customer.complete});
    }
    queue_.fetched(std::move(customers), answer.complete, [this](JobId id) { return in_hand(id); });
    dispatch(now());
  }

  // --- Time ------------------------------------------------------------------------------------

  /// The one timer. A tick that an earlier one has superseded does nothing.
  void arm(const Now& at) {
    const auto wake = next_wake(at);
    if (!wake || (armed_ && *armed_ <= *wake)) return;
    armed_ = wake;
    delayed_send(this, std::max(*wake - at.steady, microseconds{0}), Tick{*wake});
  }

  /// Nothing: there is nothing to wake for.
  std::optional<SteadyTime> next_wake(const Now& at) const {
    if (is_idle()) {
      if (!cell_ || told_dry_) return std::nullopt;
      return at.steady + context_->options.idle_close;
    }
    const auto on_wall = [&](WallTime due) {
      return at.steady + std::clamp<milliseconds>(due - at.wall, milliseconds{0}, wall_check);
    };
    SteadyTime wake = at.steady + context_->options.go_ahead;
    if (const auto deadline = leases_.next_deadline()) wake = std::min(wake, *deadline);
    if (const auto expiry = leases_.next_expiry()) wake = std::min(wake, on_wall(*expiry));
    if (next_due_ && !advancing_ && !stopping_) wake = std::min(wake, on_wall(*next_due_));
    return wake;
  }

  void tick(SteadyTime at_armed) {
    if (armed_ != at_armed) return;
    armed_.reset();
    const Now at = now();
    for (const Lease& lease : leases_.overdue(at.steady)) abort(lease, AbortCause::timeout);
    for (const Lease& lease : leases_.expired(at.wall)) abort(lease, AbortCause::expiry);
    for (const Lease& lease : std::exchange(orphans_, {})) {
      if (leases_.find(lease)) end_orphan(lease);
    }
    if (next_due_ && *next_due_ <= at.wall) advance(at);
    go_ahead(at);
    arm(at);
  }

  void abort(Lease lease, AbortCause cause) {
    leases_.abort(lease, cause);
    const JobWorker* worker = workers_.handle(leases_.find(lease)->worker);
    if (worker) send(*worker, AbortWork{lease});
  }

  /// Repairs a lost wake-up: jobs wait, workers are free, and yet nothing runs.
  void go_ahead(const Now& at) {
    const bool waiting = counts_[JobState::queued] + counts_[JobState::retrying] > 0;
    if (waiting && queue_.empty() && workers_.any_ready()) queue_.expect_more();
    dispatch(at);
    if (counts_.unfinished() == 0 && next_due_) advance(at);  // It may be of a job that has ended.
    tell_dry(at);
  }

  /// An instance of a template that has had nothing for a while may be closed.
  void tell_dry(const Now& at) {
    if (!is_idle()) {
      idle_since_.reset();
      told_dry_ = false;
    } else if (!idle_since_) {
      idle_since_ = at.steady;
    } else if (cell_ && at.steady - *idle_since_ >= context_->options.idle_close) {
      told_dry_ = true;
      send(cell_, QueueRanDry{});
    }
  }

  void note_due(const Job& job) {
    std::optional<WallTime> due;
    if (job.state == JobState::scheduled) due = job.run_at;
    if (job.state == JobState::retrying) due = job.next_attempt_at;
    if (is_ended(job.state)) due = job.settle_until;
    if (!is_ended(job.state) && job.expires_at) {
      due = due ? std::min(*due, *job.expires_at) : *job.expires_at;
    }
    if (due) next_due_ = next_due_ ? std::min(*next_due_, *due) : *due;
  }

  void advance(const Now& at) {
    if (advancing_ || stopping_) return;
    advancing_ = true;
    next_due_.reset();  // What is noted meanwhile counts beside the answer.
    const JobId place = context_->ids.next(at.wall, due_batch_max);
    request(store(), caf::infinite, AdvanceDue{key_, at.wall, place, due_batch_max})
        .then([this](const DueAdvanced& answer) { advanced(answer); },
              [this](const caf::error&) { advancing_ = false; });
  }

  void advanced(const DueAdvanced& answer) {
    advancing_ = false;
    counts_[JobState::scheduled] -= answer.queued;
    counts_[JobState::queued] += answer.queued;
    if (answer.next_due) {
      next_due_ = next_due_ ? std::min(*next_due_, *answer.next_due) : *answer.next_due;
    }
    const Now at = now();
    for (const auto& job : answer.runnable) offer(job);
    for (const auto& job : answer.expired) expire(job, at);
    dispatch(at);
    arm(at);
  }

  void expire(const JobPtr& job, const Now& at) {
    if (in_hand(job->id)) return;
    queue_.remove(*job);
    record(job, std::make_shared<const Job>(expire_waiting(*job, at.wall)));
  }

  // --- Stopping, and telling about it ----------------------------------------------------------

  caf::result<HandedBack> hand_back() {
    stopping_ = true;
    for (const Lease& lease : leases_.all()) {
      if (leases_.find(lease)->abort != AbortCause::none) continue;
      handed_back_count_ += 1;
      abort(lease, AbortCause::hand_back);
    }
    auto promise = handed_back_.add(make_response_promise<HandedBack>());
    answer_handed_back();
    return promise;
  }

  void answer_handed_back() {
    if (handed_back_.empty() || leases_.size() > 0 || !recording_.empty()) return;
    handed_back_.deliver(HandedBack{handed_back_count_});
  }

  bool is_idle() const {
    return counts_.unfinished() == 0 && submitting_.empty() && leases_.size() == 0 &&
           recording_.empty() && !next_due_ && !advancing_;
  }

  QueueDescribed describe() {
    const Now at = now();
    QueueDescribed described;
    described.queue.counts = counts_;
    described.queue.submitted_per_s = submitted_rate_.per_second(at.steady);
    described.queue.finished_per_s = finished_rate_.per_second(at.steady);
    described.ready = static_cast<std::uint32_t>(workers_.ready());
    described.busy = static_cast<std::uint32_t>(workers_.with_job(false));
    described.retiring = static_cast<std::uint32_t>(workers_.with_job(true));
    return described;
  }

  // --- Small things ----------------------------------------------------------------------------

  const Service* find_service(const Job& job) const {
    const auto found = context_->services.find(job.spec->services[job.step]);
    return found == context_->services.end() ? nullptr : &found->second;
  }

  void count(const Job* before, const Job* after) {
    if (before) counts_[before->state] -= 1;
    if (after && !is_ended(after->state)) counts_[after->state] += 1;
  }

  ContextPtr context_;
  CellKey key_;
  CellQuota quota_;
  std::uint32_t running_max_;
  Cell cell_;

  DispatchQueue queue_;
  LeaseTable leases_;
  std::set<JobId> recording_;  ///< Jobs whose attempt is over, but not yet in the store.
  std::set<Lease> orphans_;    ///< Leases without a worker whose abort failed and is due again.
  WorkerRoster workers_;

  JobCounts counts_;  ///< As of what was decided; `running` is the number of leases.
  std::map<JobId, caf::typed_response_promise<JobSubmitted>> submitting_;
  RateMeter submitted_rate_;
  RateMeter finished_rate_;

  std::optional<SteadyTime> armed_;
  std::optional<WallTime> next_due_;  ///< Of what the store keeps for later.
  bool advancing_ = false;
  std::optional<SteadyTime> idle_since_;  ///< As of a tick.
  bool told_dry_ = false;
  bool stopping_ = false;
  OwedAnswers<HandedBack> handed_back_;
  std::size_t handed_back_count_ = 0;
  std::mt19937_64 random_;
};

}  // namespace

JobDispatcher spawn_job_dispatcher(caf::actor_system& system, ContextPtr context, CellKey key,
                                   CellQuota quota, std::uint32_t running_max, Cell cell) {
  return system.spawn<JobDispatcherActor>(std::move(context), std::move(key), quota, running_max,
                                          std::move(cell));
}

}  // namespace cells
