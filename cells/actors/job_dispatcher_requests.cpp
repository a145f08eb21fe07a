// Requests of clients to a dispatcher: submit, cancel and reopen a job.
#include <utility>

#include "cells/actors/job_dispatcher_actor.hpp"
#include "cells/model/admission.hpp"

namespace cells {

// --- New jobs ------------------------------------------------------------------------------------

caf::result<JobSubmitted> JobDispatcherActor::submit(JobRequest& request_in) {
  if (request_in.gate && request_in.gate->is_closed()) return JobSubmitted{};
  if (request_in.gate && request_in.gate->is_paused()) {
    JobSubmitted answer;
    answer.returned = std::make_shared<JobRequest>(std::move(request_in));
    return answer;
  }
  const Now at = now();
  auto refusal = request_in.gate ? request_in.gate->closed_until_known() : std::nullopt;
  if (!refusal) refusal = refuse(request_in, at);
  if (refusal) return refused(request_in, std::move(*refusal));
  const JobId id = context_->ids.next(at.wall);
  auto idempotency = std::move(request_in.idempotency);
  auto firing = std::move(request_in.firing);
  auto gate = request_in.gate;
  auto accepted = accept_job(std::move(request_in), key_, config_.settings, id, at.wall,
                             others_await_places(at.wall));
  accepted.lane = lane_of(accepted);
  const auto job = std::make_shared<const Job>(std::move(accepted));
  count(nullptr, job.get());
  note_due(*job);
  auto promise = make_response_promise<JobSubmitted>();
  submitting_.emplace(id, promise);
  Submitted submitted{at.steady, idempotency.has_value(), std::move(gate)};
  request(store(), caf::infinite,
          InsertJob{job, std::move(idempotency), config_.settings.bytes_max_in_force(),
                    std::move(firing), room()})
      .then([this, job, submitted = std::move(submitted)](
                const JobInserted& stored) { inserted(job, stored, submitted); },
            [this, job, reserved_at = at.steady](caf::error& error) {
              submitting_.extract(job->id).mapped().deliver(std::move(error));
              rates_.release(job->spec->customer, reserved_at);
              not_inserted(*job);
            });
  return promise;
}

/// Whether jobs that fell due by then have not been given their places yet (promise P6).
bool JobDispatcherActor::others_await_places(WallTime by) const {
  return counts_[JobState::scheduled] > 0 && (advancing_ || (next_due_ && *next_due_ <= by));
}

/// Rearms the timer: without this job the cell may be idle.
void JobDispatcherActor::not_inserted(const Job& job) {
  count(&job, nullptr);
  arm(now());
}

std::optional<Refusal> JobDispatcherActor::refuse(const JobRequest& request_in, const Now& at) {
  if (auto refusal = refuse_timeout(key_, request_in.spec.timeout, config_.settings.timeout_max)) {
    return refusal;
  }
  if (auto refusal = refuse_too_large(key_, queued_bytes(request_in.spec), config_.settings)) {
    return refusal;
  }
  if (auto refusal = refuse_more(request_in.spec, at)) return refusal;
  return refuse_rate(request_in, at);
}

std::optional<Refusal> JobDispatcherActor::refuse_more(const JobSpec& spec, const Now& at) {
  if (stopping_) return Refusal{Refusal::Kind::shutting_down, key_, 0, 0, std::chrono::seconds{1}};
  if (state_ == CellState::draining) return refuse_draining(key_);
  const auto& settings = config_.settings;
  const double finished_per_s = end_rate_.per_second(busy_clock_.at(at.steady));
  auto refusal = cells::refuse_full(key_, counts_.unfinished(), settings.jobs_max, finished_per_s,
                                    turned_away_);
  if (refusal || durability() == Durability::memory) return refusal;
  return refuse_bytes(key_, counts_, settings.bytes_max, queued_bytes(spec), finished_per_s,
                      turned_away_);
}

/// The batch desk keeps a refused job of a batch, and submits it again.
std::optional<Refusal> JobDispatcherActor::refuse_rate(const JobRequest& request_in,
                                                       const Now& at) {
  const bool asks_again = request_in.gate != nullptr;
  const auto too_fast = rates_.reserve(request_in.spec.customer, at.steady, asks_again);
  if (!too_fast) return std::nullopt;
  return cells::refuse_rate(key_, *too_fast, config_.settings);
}

/// With a key the refusal is not final: the cell dispatcher looks the key up first. A job of a
/// batch that came too fast is submitted again.
JobSubmitted JobDispatcherActor::refused(JobRequest& request_in, Refusal refusal) {
  const bool has_key = request_in.idempotency.has_value();
  const bool comes_again = request_in.gate && is_too_fast(refusal.kind);
  close_gate(request_in.gate, has_key, refusal);
  if (!has_key && !comes_again) context_->options.probe->refused(refusal, request_in.spec.customer);
  JobSubmitted answer{nullptr, std::move(refusal)};
  if (comes_again) request_in.gate->pause();
  if (comes_again) answer.returned = std::make_shared<JobRequest>(std::move(request_in));
  return answer;
}

CustomerRoom JobDispatcherActor::room() const {
  return {config_.settings.customer.jobs_max, config_.settings.customer.bytes_max};
}

void JobDispatcherActor::inserted(const JobPtr& job, const JobInserted& stored,
                                  const Submitted& request_in) {
  auto promise = submitting_.extract(job->id).mapped();
  const auto& holder = stored.holder;
  if (!holder.job && !stored.full && !stored.customer_full && !stored.is_stale) {
    rates_.confirm(job->spec->customer, request_in.at);
    submitted_rate_.count(now().steady);
    context_->options.probe->submitted(*job);
    promise.deliver(JobSubmitted{job, std::nullopt, false});
    added(job, stored.runnable);
    return;
  }
  rates_.release(job->spec->customer, request_in.at);
  if (stored.full || stored.customer_full) {
    auto refusal = refuse_full(*job->spec, stored);
    close_gate(request_in.gate, request_in.has_key, refusal);
    if (!request_in.has_key) context_->options.probe->refused(refusal, job->spec->customer);
    promise.deliver(JobSubmitted{nullptr, std::move(refusal), false});
  } else if (stored.is_stale) {
    promise.deliver(JobSubmitted{});
  } else if (holder.same_request) {
    promise.deliver(JobSubmitted{holder.job, std::nullopt, true});
  } else {
    promise.deliver(JobSubmitted{nullptr, refuse_reused_key(key_), false});
  }
  not_inserted(*job);
}

/// The store had no room for the job.
Refusal JobDispatcherActor::refuse_full(const JobSpec& spec, const JobInserted& stored) {
  if (stored.customer_full) return refuse_customer(spec, *stored.customer_full);
  return refuse_memory(key_, *stored.full, counts_.unfinished(),
                       end_rate_.per_second(busy_clock_.at(now().steady)), turned_away_);
}

Refusal JobDispatcherActor::refuse_customer(const JobSpec& spec, const CustomerFull& full) {
  auto& customer = customer_end_rates_.of(spec.customer);
  const double finished_per_s = customer.ended.per_second(busy_clock_.at(now().steady));
  return cells::refuse_customer(key_, full, queued_bytes(spec), finished_per_s,
                                customer.turned_away);
}

/// The store now has this job.
void JobDispatcherActor::added(const JobPtr& job, bool runnable) {
  tell(*context_, job);
  const Now at = now();
  note_due(*job);
  if (runnable) offer(job);
  dispatch(at);
  arm(at);
}

// --- Cancelling ----------------------------------------------------------------------------------

/// All requests that arrive while the job is being cancelled get the same answer.
caf::result<CancelAnswered> JobDispatcherActor::cancel(JobId id) {
  const bool under_way = cancelling_.contains(id);
  auto promise = cancelling_[id].add(make_response_promise<CancelAnswered>());
  if (!under_way) begin_cancel(id);
  return promise;
}

/// While the end of an attempt is being stored, the job is neither running nor waiting;
/// recording_done then calls this again.
void JobDispatcherActor::begin_cancel(JobId id) {
  if (const auto lease = leases_.lease_of(id)) {
    const JobPtr& job = leases_.find(*lease)->job;
    can_cancel(*job) ? begin_cancel_running(*lease) : answer_cancel(id, {job, false});
  } else if (!recording_.contains(id)) {
    begin_cancel_waiting(id);
  }
}

/// Marks the job in the store and aborts its attempt. The mark is on disk before the request is
/// answered, so that no crash forgets the cancellation.
void JobDispatcherActor::begin_cancel_running(Lease lease) {
  LiveLease& live = *leases_.find(lease);
  live.job = std::make_shared<const Job>(request_cancel(*live.job));
  const bool aborts = live.abort == AbortCause::none;
  request(store(), caf::infinite, RecordJob{lease, live.job})
      .then(
          [this, job = live.job](const JobRecorded& result) {
            if (!result.applied) {
              quit(caf::make_error(caf::sec::runtime_error, "a record was refused as stale"));
              return;
            }
            tell(*context_, job);
            answer_cancel(job->id, {job, true});
          },
          [this, id = live.job->id](const caf::error&) { fail_cancel(id); });
  if (aborts) abort(lease, AbortCause::cancel);
}

/// Until the store answers, the job counts as in hand, so that it is not handed out.
void JobDispatcherActor::begin_cancel_waiting(JobId id) {
  recording_.insert(id);
  request(store(), caf::infinite, CancelWaiting{id, key_, now().wall})
      .then([this, id](const WaitingCancelled& result) { waiting_cancelled(id, result); },
            [this, id](const caf::error&) {
              store_failed();
              recording_.erase(id);
              fail_cancel(id);
              answer_handed_back();
            });
}

void JobDispatcherActor::waiting_cancelled(JobId id, const WaitingCancelled& result) {
  recording_.erase(id);
  const Now at = now();
  if (result.after) {
    remove_from_queue(*result.before);
    count(result.before.get(), result.after.get());
    note_ended(*result.after, at);
    tell(*context_, result.after);
    note_due(*result.after);
    if (result.promoted) offer(result.promoted);
    if (result.follower && falls_with_predecessor(*result.follower)) {
      cancel_follower(result.follower, at);
    }
    dispatch(at);
  } else if (result.before && result.before->state == JobState::compensating) {
    queue_of(result.before->lane).expect_more();  // It may have become runnable meanwhile.
    dispatch(at);
  }
  arm(at);  // The cell may be idle, even if nothing was cancelled.
  answer_cancel(id, {result.after ? result.after : result.before, result.after != nullptr});
  answer_handed_back();
}

void JobDispatcherActor::answer_cancel(JobId id, const CancelAnswered& answer) {
  if (auto asked = cancelling_.extract(id)) asked.mapped().deliver(answer);
}

void JobDispatcherActor::fail_cancel(JobId id) {
  if (auto asked = cancelling_.extract(id)) asked.mapped().fail();
}

// --- Reopening -----------------------------------------------------------------------------------

/// The job counts against the queue limit before the store answers, as a new job does.
caf::result<ReopenAnswered> JobDispatcherActor::reopen_job(const JobPtr& job) {
  const Now at = now();
  if (!can_reopen(*job)) return ReopenAnswered{job, false, std::nullopt};
  if (auto refusal = refuse_more(*job->spec, at)) {
    context_->options.probe->refused(*refusal, job->spec->customer);
    return ReopenAnswered{nullptr, false, std::move(refusal)};
  }
  const JobId place = context_->ids.next(at.wall);
  counts_[JobState::queued] += 1;
  counts_.bytes += queued_bytes(*job->spec);
  auto promise = make_response_promise<ReopenAnswered>();
  reopening_.emplace(place, promise);
  request(store(), caf::infinite, ReopenEnded{job->id, key_, place, at.wall, room()})
      .then([this, place,
             spec = job->spec](const EndedReopened& result) { reopened(place, *spec, result); },
            [this, place, spec = job->spec](caf::error& error) {
              counts_[JobState::queued] -= 1;
              counts_.bytes -= queued_bytes(*spec);
              reopening_.extract(place).mapped().deliver(std::move(error));
            });
  return promise;
}

void JobDispatcherActor::reopened(JobId place, const JobSpec& spec, const EndedReopened& result) {
  auto promise = reopening_.extract(place).mapped();
  counts_[JobState::queued] -= 1;
  counts_.bytes -= queued_bytes(spec);
  if (result.customer_full) {
    auto refusal = refuse_customer(spec, *result.customer_full);
    context_->options.probe->refused(refusal, spec.customer);
    promise.deliver(ReopenAnswered{nullptr, false, std::move(refusal)});
    arm(now());  // The cell may be idle.
    return;
  }
  if (!result.after) {
    promise.deliver(ReopenAnswered{result.before, false, std::nullopt});
    arm(now());  // The cell may be idle.
    return;
  }
  count(nullptr, result.after.get());
  promise.deliver(ReopenAnswered{result.after, true, std::nullopt});
  added(result.after, result.runnable);
}

}  // namespace cells
