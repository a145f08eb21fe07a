#include "cells/model/job_machine.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "cells/model/retry.hpp"

namespace cells {
namespace {

/// Cuts between characters, so that UTF-8 stays valid.
void truncate_text(std::string& text) {
  if (text.size() <= message_bytes_max) return;
  std::size_t end = message_bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
}

void add_message(Job& job, Message message) {
  truncate_text(message.text);
  if (job.messages.size() >= messages_max) job.messages.erase(job.messages.begin());
  job.messages.push_back(std::move(message));
}

const std::string& service_of(const Job& job) {
  return job.spec->services[job.step];
}

/// Merges at the top level; the added value of a name wins. False, with nothing merged, if the
/// result would be too large.
bool merge_properties(Job& job, Properties&& added) {
  std::size_t bytes = 0;
  Properties merged = std::move(added);
  merged.insert(job.properties.begin(), job.properties.end());
  for (const auto& [name, value] : merged) bytes += name.size() + value.size();
  if (bytes > properties_bytes_max) return false;
  job.properties = std::move(merged);
  return true;
}

bool compensates(const Job& job) {
  return job.spec->on_failure == OnFailure::compensate;
}

/// Whether the step has done something that is to be undone, or may have.
bool needs_undo(const Step& step) {
  return step.state == StepState::succeeded || step.in_doubt || !step.operation.empty();
}

/// The last step below `end` that is to be undone.
std::optional<std::size_t> last_to_undo(const Job& job, std::size_t end) {
  for (std::size_t i = end; i > 0; --i) {
    if (needs_undo(job.steps[i - 1])) return i - 1;
  }
  return std::nullopt;
}

/// Ends the job without success.
void give_up(Job& job, JobState state, JobError error, WallTime now) {
  job.state = state;
  job.finished_at = now;
  job.next_attempt_at.reset();
  for (std::size_t i = job.step; i < job.steps.size(); ++i) {
    if (job.steps[i].state == StepState::waiting) job.steps[i].state = StepState::skipped;
  }
  job.error = std::move(error);
}

/// The undo of this step is next, once the entity has settled.
void turn_to_undo(Job& job, std::size_t step) {
  job.state = JobState::compensating;
  job.step = step;
  job.steps[step].operation.clear();  // What the undo begins is another operation.
  job.interruptions = 0;
  job.next_attempt_at = job.settle_until;
}

void begin_compensation(Job& job, std::size_t last, JobError error, WallTime now) {
  for (Step& step : job.steps) {
    const bool is_done = step.state == StepState::succeeded || step.state == StepState::failed;
    if (is_done || step.state == StepState::skipped) continue;
    step.state = needs_undo(step) ? StepState::failed : StepState::skipped;
    if (step.state == StepState::failed) step.finished_at = now;
  }
  job.error = std::move(error);
  turn_to_undo(job, last);
}

/// Ends the job, after its compensation if there is something to undo.
void fail(Job& job, JobError error, WallTime now) {
  add_message(job, {now, Severity::error, error.service, error.message});
  const auto last = compensates(job) ? last_to_undo(job, job.steps.size()) : std::nullopt;
  if (last) return begin_compensation(job, *last, std::move(error), now);
  give_up(job, JobState::failed, std::move(error), now);
}

/// The current step was undone, or cannot be undone.
void end_undo(Job& job, StepState state, WallTime now) {
  Step& step = job.steps[job.step];
  step.state = state;
  step.finished_at = now;
  step.operation.clear();
  if (const auto next = last_to_undo(job, job.step)) return turn_to_undo(job, *next);
  job.state = JobState::failed;
  job.finished_at = now;
  job.next_attempt_at.reset();
}

void cancel(Job& job, WallTime now) {
  job.cancel_requested = true;
  give_up(job, JobState::cancelled, {"cancelled", "the job was cancelled", ""}, now);
}

/// The current step will not be tried again.
void close_step(Job& job, WallTime now) {
  Step& step = job.steps[job.step];
  step.state = StepState::failed;
  step.finished_at = now;
}

/// Whether an operation of the current step may go on at the provider between two calls.
bool has_operation(const Job& job) {
  return job.step < job.steps.size() && !job.steps[job.step].operation.empty();
}

/// Whether the job waits for an operation that its attempt has begun.
bool awaits_operation(const Job& job) {
  return (job.state == JobState::retrying || job.state == JobState::compensating) &&
         job.steps[job.step].state == StepState::running;
}

/// The step fails for good; in a compensation, its undo fails for good.
void fail_step(Job& job, AttemptEnd& end, WallTime now) {
  if (is_compensating(job)) {
    add_message(job, {now, Severity::error, service_of(job), "cannot be undone: " + end.message});
    return end_undo(job, StepState::undo_failed, now);
  }
  close_step(job, now);
  fail(job, {std::move(end.code), std::move(end.message), service_of(job)}, now);
}

void succeed_step(Job& job, WallTime now) {
  if (is_compensating(job)) return end_undo(job, StepState::undone, now);
  Step& step = job.steps[job.step];
  step.state = StepState::succeeded;
  step.finished_at = now;
  step.operation.clear();
  job.step += 1;
  job.interruptions = 0;
  if (job.step == job.steps.size()) {
    job.state = JobState::succeeded;
    job.finished_at = now;
  } else {
    job.state = JobState::queued;
  }
}

void wait_until(Job& job, WallTime when) {
  job.state = is_compensating(job) ? JobState::compensating : JobState::retrying;
  job.steps[job.step].state = StepState::retrying;
  job.next_attempt_at = when;
}

/// Returns the job to its state before the attempt, or makes it wait while its entity settles.
void take_back_attempt(Job& job, milliseconds settle, WallTime now) {
  Step& step = job.steps[job.step];
  if (settle > milliseconds{0}) {
    wait_until(job, now + settle);
    return;
  }
  if (is_compensating(job)) {
    job.state = JobState::compensating;
    step.state = StepState::retrying;
    return;
  }
  job.state = JobState::queued;
  step.state = step.attempts == 0 ? StepState::waiting : StepState::retrying;
}

bool outcome_unknown(AttemptEnd::Kind kind) {
  using Kind = AttemptEnd::Kind;
  return kind == Kind::unknown || kind == Kind::expired || kind == Kind::cancelled ||
         kind == Kind::interrupted || kind == Kind::handed_back;
}

/// Whether the provider may still be acting after this end of an attempt. The failure of a call
/// that asks for an operation does not end the operation.
bool may_go_on(AttemptEnd::Kind kind, const Job& job) {
  using Kind = AttemptEnd::Kind;
  const bool failed = kind == Kind::retryable || kind == Kind::throttled;
  return outcome_unknown(kind) || (failed && has_operation(job));
}

/// Whether the attempt ended with a failure of its own, rather than being cut short by celld.
bool reports_failure(AttemptEnd::Kind kind) {
  using Kind = AttemptEnd::Kind;
  return kind == Kind::rejected || kind == Kind::retryable || kind == Kind::throttled ||
         kind == Kind::unknown;
}

bool counted(const AttemptEnd& end) {
  using Kind = AttemptEnd::Kind;
  if (end.is_probe && (end.kind == Kind::retryable || end.kind == Kind::unknown)) return false;
  return end.kind != Kind::throttled && end.kind != Kind::interrupted &&
         end.kind != Kind::handed_back;
}

/// Whether the attempt may have had an effect although it did not succeed. An answer that celld
/// cannot read may be that of a provider that has done its work. The code of a rejection is the
/// provider's own.
bool leaves_doubt(const AttemptEnd& end) {
  const bool unreadable = end.code == "invalid_response" && end.kind != AttemptEnd::Kind::rejected;
  const bool unclear = outcome_unknown(end.kind) || unreadable;
  return !end.never_began && (unclear || end.in_doubt);
}

std::uint32_t& attempts_of(Job& job) {
  Step& step = job.steps[job.step];
  return is_compensating(job) ? step.undo_attempts : step.attempts;
}

void retry_or_fail(Job& job, AttemptEnd& end, const RetryInputs& inputs, WallTime now) {
  if (counted(end)) job.interruptions = 0;
  const std::uint32_t attempts = attempts_of(job);
  const bool last = counted(end) && attempts >= job.spec->max_attempts;
  if (last || end.kind == AttemptEnd::Kind::rejected) {
    fail_step(job, end, now);
    return;
  }
  add_message(job, {now, Severity::warning, service_of(job), end.message});
  const milliseconds settle = outcome_unknown(end.kind) ? inputs.settle : milliseconds{0};
  // Attempts that ended with a 429 are not counted, but the backoff grows with them all the same.
  const auto since_first = now - job.steps[job.step].started_at.value_or(now);
  const auto uncounted =
      end.kind == AttemptEnd::Kind::throttled ? attempts_within(inputs.policy, since_first) : 1U;
  const milliseconds delay =
      retry_delay(inputs.policy, std::max(attempts, uncounted), inputs.random, end.retry_after);
  wait_until(job, now + std::max(delay, settle));
}

void end_cancelled(Job& job, const AttemptEnd& end, WallTime now) {
  if (end.kind == AttemptEnd::Kind::succeeded) {
    succeed_step(job, now);
  } else {
    if (reports_failure(end.kind)) {
      add_message(job, {now, Severity::warning, service_of(job), end.message});
    }
    close_step(job, now);
  }
  cancel(job, now);
}

/// The waiting job, after its next attempt was given up. If it has begun an operation, its entity
/// settles from now on.
Job stop_waiting(const Job& job, WallTime now) {
  assert(!is_ended(job.state) && job.state != JobState::running && job.step < job.steps.size());
  Job next = job;
  const bool tried = next.steps[next.step].state == StepState::retrying;
  if (tried || awaits_operation(job)) close_step(next, now);
  // A reopened job that waits until its entity has settled has a `settle_until` in force.
  const bool goes_on = has_operation(job) && next.settle_until && next.next_attempt_at;
  if (goes_on && *next.settle_until > *next.next_attempt_at) {
    next.settle_until = now + (*next.settle_until - *next.next_attempt_at);
  }
  if (next.settle_until && *next.settle_until <= now) next.settle_until.reset();
  return next;
}

/// The attempt continues after a while: a later call, under another lease, is part of it.
void await_operation(Job& job, const AttemptEnd& end, WallTime now) {
  job.interruptions = 0;
  job.state = is_compensating(job) ? JobState::compensating : JobState::retrying;
  const milliseconds wait = end.retry_after.value_or(milliseconds{0});
  job.next_attempt_at = now + std::clamp(wait, milliseconds{0}, operation_wait_max);
}

void apply_end(Job& next, AttemptEnd& end, const RetryInputs& inputs, WallTime now) {
  using Kind = AttemptEnd::Kind;
  switch (end.kind) {
    case Kind::succeeded:
      succeed_step(next, now);
      if (const auto expiry = expiry_of(next); !is_ended(next.state) && expiry && *expiry <= now) {
        next = expire_waiting(next, now);
      }
      break;
    case Kind::handed_back:
      take_back_attempt(next, inputs.settle, now);
      break;
    case Kind::interrupted:
      next.interruptions += 1;
      if (next.interruptions >= interruptions_max) {
        fail_step(next, end, now);
      } else {
        take_back_attempt(next, inputs.settle, now);
      }
      break;
    case Kind::expired:
    case Kind::cancelled:
      fail_step(next, end, now);
      break;
    case Kind::pending:
      await_operation(next, end, now);
      break;
    case Kind::rejected:
    case Kind::retryable:
    case Kind::throttled:
    case Kind::unknown:
      retry_or_fail(next, end, inputs, now);
      break;
  }
}

}  // namespace

Job start_attempt(const Job& job, Lease lease, WallTime now, std::string worker) {
  assert(job.state == JobState::queued || job.state == JobState::retrying ||
         job.state == JobState::compensating);
  assert(job.step < job.steps.size());
  const bool goes_on = awaits_operation(job);
  Job next = job;
  next.state = JobState::running;
  next.lease = lease;
  next.next_attempt_at.reset();
  next.settle_until.reset();
  if (!next.started_at) next.started_at = now;
  Step& step = next.steps[next.step];
  step.state = StepState::running;
  if (!goes_on) attempts_of(next) += 1;
  step.worker = std::move(worker);
  step.report.reset();
  step.progress.reset();
  if (!step.started_at) step.started_at = now;
  step.finished_at.reset();
  return next;
}

Job note_progress(const Job& job, std::optional<double> progress, std::string message,
                  WallTime now) {
  assert(job.state == JobState::running);
  Job next = job;
  if (progress) next.steps[next.step].progress = progress;
  if (!message.empty()) {
    add_message(next, {now, Severity::info, service_of(next), std::move(message)});
  }
  return next;
}

Job end_attempt(const Job& job, AttemptEnd end, const RetryInputs& inputs, WallTime now) {
  assert(job.state == JobState::running);
  using Kind = AttemptEnd::Kind;
  Job next = job;
  // The provider carries on with the operation; celld no longer asks for it.
  if (end.kind == Kind::pending && next.cancel_requested) end.kind = Kind::cancelled;
  for (auto& message : end.messages) add_message(next, std::move(message));
  const bool undoes = is_compensating(job);
  if (end.kind == Kind::succeeded && !undoes &&
      !merge_properties(next, std::move(end.properties))) {
    end.kind = Kind::retryable;
    end.code = "invalid_response";
    end.message = "the properties of the job would exceed 256 KiB";
  }
  Step& step = next.steps[next.step];
  if (!counted(end)) attempts_of(next) -= 1;
  if (!undoes && compensates(next) && leaves_doubt(end)) step.in_doubt = true;
  step.worker.clear();
  step.report = end.report;
  if (end.operation) step.operation = std::move(*end.operation);
  if (end.kind == Kind::rejected) step.operation.clear();

  const bool settles = inputs.settle > milliseconds{0};
  if (settles && may_go_on(end.kind, next)) next.settle_until = now + inputs.settle;
  if (next.cancel_requested) {
    end_cancelled(next, end, now);
  } else {
    apply_end(next, end, inputs, now);
  }
  // For stop_waiting, which does not know `settle`.
  if (settles && !is_ended(next.state) && next.next_attempt_at && has_operation(next)) {
    next.settle_until = *next.next_attempt_at + inputs.settle;
  }
  return next;
}

Job expire_waiting(const Job& job, WallTime now) {
  Job next = stop_waiting(job, now);
  fail(next, {"expired", "the job expired before it ended", ""}, now);
  return next;
}

Job cancel_waiting(const Job& job, WallTime now) {
  Job next = stop_waiting(job, now);
  cancel(next, now);
  return next;
}

Job cancel_follower(const Job& job, WallTime now) {
  Job next = stop_waiting(job, now);
  give_up(next, JobState::cancelled,
          {"predecessor_failed", "an earlier job for the same entity failed", ""}, now);
  return next;
}

bool can_cancel(const Job& job) {
  return !is_ended(job.state) && !is_compensating(job);
}

Job request_cancel(const Job& job) {
  assert(job.state == JobState::running && can_cancel(job));
  Job next = job;
  next.cancel_requested = true;
  return next;
}

bool can_reopen(const Job& job) {
  const bool undone = std::any_of(job.steps.begin(), job.steps.end(),
                                  [](const Step& step) { return step.state == StepState::undone; });
  return (job.state == JobState::failed || job.state == JobState::cancelled) && !undone;
}

Job reopen(const Job& job, const CellKey& cell, JobId place, WallTime now) {
  assert(can_reopen(job));
  Job next = job;
  next.cell = cell;
  next.run_at = now;
  next.finished_at.reset();
  next.error.reset();
  next.cancel_requested = false;
  next.interruptions = 0;
  next.failed_ahead = 0;
  if (next.expires_at && *next.expires_at <= now) next.expires_at.reset();
  for (std::size_t i = next.step; i < next.steps.size(); ++i) {
    Step fresh;
    fresh.report = next.steps[i].report;  // A worker may repeat its report.
    fresh.in_doubt = next.steps[i].in_doubt || next.steps[i].state == StepState::undo_failed;
    fresh.operation = std::move(next.steps[i].operation);
    next.steps[i] = std::move(fresh);
  }
  if (next.step == next.steps.size()) {
    next.state = JobState::succeeded;
    next.finished_at = now;
  } else if (next.place != 0 && next.settle_until) {
    wait_until(next, *next.settle_until);
  } else {
    next.state = JobState::queued;
    next.place = place;
    next.settle_until.reset();
  }
  return next;
}

}  // namespace cells
