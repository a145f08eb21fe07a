// What falls due in a cell, and what is overdue.
#include <algorithm>
#include <utility>

#include "cells/actors/job_dispatcher_actor.hpp"

namespace cells {
namespace {

/// The longest sleep while waiting for a wall-clock time, so that a jump of that clock is noticed.
constexpr milliseconds wall_check{1000};
constexpr milliseconds abort_retry_delay{10};

}  // namespace

/// Arms this actor's only timer. A superseded tick does nothing. Called whenever the cell may have
/// become idle, or may no longer be.
void JobDispatcherActor::arm(const Now& at) {
  busy_clock_.count(counts_, config_.settings.jobs_max, at.steady);
  const auto wake = next_wake(at);
  if (!wake || (armed_ && *armed_ <= *wake)) return;
  armed_ = wake;
  delayed_send(this, std::max(*wake - at.steady, microseconds{0}), Tick{*wake});
}

std::optional<SteadyTime> JobDispatcherActor::next_wake(const Now& at) const {
  if (is_idle()) {
    if (!config_.closes_when_idle || idle_reported_) return std::nullopt;
    return at.steady + context_->options.idle_close;
  }
  const auto on_wall = [&](WallTime due) {
    return at.steady + std::clamp<milliseconds>(due - at.wall, milliseconds{0}, wall_check);
  };
  SteadyTime wake = at.steady + context_->options.go_ahead;
  if (!orphans_.empty()) wake = at.steady + abort_retry_delay;
  if (lingers_until_) wake = std::min(wake, *lingers_until_);
  if (const auto deadline = leases_.next_deadline()) wake = std::min(wake, *deadline);
  if (const auto expiry = leases_.next_expiry()) wake = std::min(wake, on_wall(*expiry));
  if (next_due_ && !advancing_ && !stopping_) wake = std::min(wake, on_wall(*next_due_));
  return wake;
}

void JobDispatcherActor::tick(SteadyTime at_armed) {
  if (armed_ != at_armed) return;
  armed_.reset();
  const Now at = now();
  for (const Lease& lease : leases_.overdue(at.steady)) abort(lease, AbortCause::timeout);
  for (const Lease& lease : leases_.expired(at.wall)) abort(lease, AbortCause::expiry);
  for (const Lease& lease : std::exchange(orphans_, {})) {
    if (leases_.find(lease)) end_orphan(lease);
  }
  if (next_due_ && *next_due_ <= at.wall) advance(at);
  end_lingering(at);
  go_ahead(at);
  arm(at);
}

void JobDispatcherActor::abort(Lease lease, AbortCause cause) {
  if (leases_.find(lease)->outside) return abort_outside(lease, cause);
  leases_.abort(lease, cause);
  const JobWorker* worker = workers_.handle(leases_.find(lease)->worker);
  if (worker) send(*worker, AbortWork{lease});
}

/// Repairs a lost wake-up: jobs wait and workers are ready, but the window is empty.
void JobDispatcherActor::go_ahead(const Now& at) {
  const auto waits_in = [this](JobState state) { return counts_[state] > 0; };
  const bool waiting = waits_in(JobState::queued) || waits_in(JobState::retrying) ||
                       waits_in(JobState::compensating);
  if (waiting && queue_.empty() && workers_.any_ready()) queue_.expect_more();
  if (waiting && queue_.empty() && lanes_.empty()) refresh_lanes();
  dispatch(at);
  if (counts_.unfinished() == 0 && next_due_) advance(at);  // The job that was due may have ended.
  report_idle(at);
}

/// Reports, once, that the cell has been idle for a while, if it may then be closed.
void JobDispatcherActor::report_idle(const Now& at) {
  if (!is_idle()) {
    idle_since_.reset();
    idle_reported_ = false;
  } else if (!idle_since_) {
    idle_since_ = at.steady;
  } else if (config_.closes_when_idle && rates_.is_idle(at.steady) &&
             at.steady - *idle_since_ >= context_->options.idle_close) {
    idle_reported_ = true;
    send(cell_, QueueIdle{});
  }
}

void JobDispatcherActor::note_due(const Job& job) {
  std::optional<WallTime> due;
  if (job.state == JobState::scheduled) due = job.run_at;
  if (job.state == JobState::retrying || job.state == JobState::compensating) {
    due = job.next_attempt_at;
  }
  if (is_ended(job.state)) due = job.settle_until;
  if (const auto expiry = expiry_of(job); expiry && !is_ended(job.state)) {
    due = due ? std::min(*due, *expiry) : *expiry;
  }
  if (due) next_due_ = next_due_ ? std::min(*next_due_, *due) : *due;
}

void JobDispatcherActor::note_ended(const Job& job, const Now& at) {
  finished_rate_.count(at.steady);
  const SteadyTime busy = busy_clock_.at(at.steady);
  end_rate_.count(busy);
  turned_away_.job_ended();
  if (room() != CustomerRoom{}) customer_end_rates_.job_ended(job.spec->customer, busy);
}

void JobDispatcherActor::advance(const Now& at) {
  if (advancing_ || stopping_) return;
  advancing_ = true;
  next_due_.reset();  // Due times noted before the answer arrives are merged with it.
  const auto limit = context_->options.store_sizes.due_jobs_max;
  const JobId place = context_->ids.next(at.wall, limit);
  request(store(), caf::infinite, AdvanceDue{key_, at.wall, place, limit, durability()})
      .then([this](const DueAdvanced& answer) { advanced(answer); },
            [this](const caf::error&) { advancing_ = false; });
}

void JobDispatcherActor::advanced(const DueAdvanced& answer) {
  advancing_ = false;
  counts_[JobState::scheduled] -= answer.queued;
  counts_[JobState::queued] += answer.queued;
  if (answer.next_due) {
    next_due_ = next_due_ ? std::min(*next_due_, *answer.next_due) : *answer.next_due;
  }
  const Now at = now();
  for (const auto& job : answer.runnable) offer(job);
  for (const auto& job : answer.promoted_elsewhere) report_left(*job);
  for (const auto& job : answer.expired) expire(job, at);
  dispatch(at);
  arm(at);
}

/// A job that is moving to another cell expires there.
void JobDispatcherActor::expire(const JobPtr& job, const Now& at) {
  if (in_hand(job->id) || is_leaving(*job->spec)) return;
  end_waiting(job, expire_waiting(*job, at.wall));
}

/// Whether the job is to be cancelled because a job ahead of it in its line has failed.
bool JobDispatcherActor::falls_with_predecessor(const Job& job) const {
  return job.failed_ahead != 0 && can_cancel(job) &&
         config_.settings.on_predecessor_failed == OnPredecessorFailed::cancel;
}

/// Cancels the next follower of a failed job. The followers are cancelled one at a time, each with
/// one record, so that a long line does not delay other jobs. After a crash, the mark of the next
/// follower is still there. A follower in another cell is noticed there when it becomes runnable.
void JobDispatcherActor::cancel_follower(const JobPtr& job, const Now& at) {
  if (stopping_ || job->cell != key_ || in_hand(job->id) || is_leaving(*job->spec)) return;
  end_waiting(job, cells::cancel_follower(*job, at.wall));
}

void JobDispatcherActor::end_waiting(const JobPtr& job, Job ended) {
  remove_from_queue(*job);
  ended.lane = lane_of(ended);
  record(job, std::make_shared<const Job>(std::move(ended)));
}

}  // namespace cells
