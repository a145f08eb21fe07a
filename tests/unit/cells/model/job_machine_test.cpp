#include "cells/model/job_machine.hpp"

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"

using namespace model_test;
using Kind = AttemptEnd::Kind;

namespace {

constexpr Lease lease{3, 7};

AttemptEnd end_of(Kind kind) {
  AttemptEnd end;
  end.kind = kind;
  end.code = "some_code";
  end.message = "some message";
  return end;
}

/// Backoffs of 1, 2, 4 … s up to 60 s; the jitter picks the middle of each.
RetryInputs inputs_with_settle(milliseconds settle) {
  return {RetryPolicy{3, 1000ms, 60000ms}, settle, 0.5};
}

const RetryInputs inputs = inputs_with_settle(0ms);

Job running_job(std::vector<std::string> services = {"dns", "billing"}) {
  return start_attempt(queued_job(spec_with_services(std::move(services))), lease, noon);
}

/// Runs attempts that end in one way until the job has ended or made `count` of them.
Job after_attempts(Job job, Kind kind, int count, const RetryInputs& by = inputs) {
  for (int i = 0; i < count && !is_ended(job.state); ++i) {
    if (job.state != JobState::running) job = start_attempt(job, lease, noon);
    job = end_attempt(job, end_of(kind), by, noon);
  }
  return job;
}

Job with_first_step_done() {
  return end_attempt(running_job({"dns", "billing", "mail"}), end_of(Kind::succeeded), inputs,
                     noon + 1s);
}

}  // namespace

// --- Starting --------------------------------------------------------------------------------

TEST_CASE("a job that is handed out runs under its lease") {
  const Job before = queued_job();
  const Job job = start_attempt(before, lease, noon + 1s);
  CHECK(job.state == JobState::running);
  CHECK(job.lease == lease);
  CHECK(job.started_at == noon + 1s);
  CHECK(job.steps[0].state == StepState::running);
  CHECK(job.steps[0].attempts == 1);
  CHECK(job.steps[0].started_at == noon + 1s);
  CHECK(job.steps[1] == Step{});
  CHECK(job.place == before.place);
  CHECK(job.spec == before.spec);
}

TEST_CASE("a second attempt keeps the start time of the first, and ends the wait") {
  const Job waiting = end_attempt(running_job(), end_of(Kind::retryable), inputs, noon + 1s);
  REQUIRE(waiting.next_attempt_at);
  const Job job = start_attempt(waiting, {3, 8}, noon + 9s);
  CHECK(job.state == JobState::running);
  CHECK(job.lease == Lease{3, 8});
  CHECK(job.started_at == noon);
  CHECK(job.steps[0].started_at == noon);
  CHECK(job.steps[0].attempts == 2);
  CHECK_FALSE(job.next_attempt_at);
}

// --- Success ---------------------------------------------------------------------------------

TEST_CASE("a step that succeeded is kept, and the next one waits for a worker") {
  const Job job = end_attempt(running_job(), end_of(Kind::succeeded), inputs, noon + 1s);
  CHECK(job.state == JobState::queued);
  CHECK(job.step == 1);
  CHECK(job.steps[0].state == StepState::succeeded);
  CHECK(job.steps[0].finished_at == noon + 1s);
  CHECK(job.steps[1].state == StepState::waiting);
  CHECK(job.place == 1);
  CHECK_FALSE(job.finished_at);
  CHECK_FALSE(job.next_attempt_at);
  CHECK_FALSE(job.error);
}

TEST_CASE("a job succeeds with its last step") {
  const Job job = after_attempts(running_job(), Kind::succeeded, 2);
  CHECK(job.state == JobState::succeeded);
  CHECK(job.step == 2);
  CHECK(job.finished_at == noon);
  CHECK(job.steps[1].state == StepState::succeeded);
  CHECK_FALSE(job.error);
  CHECK_FALSE(job.settle_until);
}

TEST_CASE("a success resets the count of interruptions") {
  const Job cut_twice = after_attempts(running_job(), Kind::interrupted, 2);
  CHECK(cut_twice.interruptions == 2);
  CHECK(after_attempts(cut_twice, Kind::succeeded, 1).interruptions == 0);
}

TEST_CASE("an attempt that fails on its own resets the count of interruptions") {
  const Job cut_twice = after_attempts(running_job(), Kind::interrupted, 2);
  CHECK(after_attempts(cut_twice, Kind::retryable, 1).interruptions == 0);
  CHECK(after_attempts(cut_twice, Kind::handed_back, 1).interruptions == 2);
  CHECK(after_attempts(cut_twice, Kind::throttled, 1).interruptions == 2);  // Not counted.
}

TEST_CASE("an operation that has begun resets the count of interruptions") {
  const Job cut_twice = after_attempts(running_job(), Kind::interrupted, 2);
  CHECK(after_attempts(cut_twice, Kind::pending, 1).interruptions == 0);
}

TEST_CASE("a job that expires during a successful step does not begin the next one") {
  Job running = running_job();
  running.expires_at = noon + 1s;
  SECTION("at the time of its expiry") {
    const Job job =
        end_attempt(running, end_of(Kind::succeeded), inputs_with_settle(5s), noon + 1s);
    CHECK(job.state == JobState::failed);
    CHECK(job.error->code == "expired");
    CHECK(job.error->service.empty());
    CHECK(job.steps[0].state == StepState::succeeded);
    CHECK(job.steps[1].state == StepState::skipped);
    CHECK_FALSE(job.settle_until);
  }
  SECTION("but begins it before that time") {
    const Job job = end_attempt(running, end_of(Kind::succeeded), inputs, noon + 999ms);
    CHECK(job.state == JobState::queued);
  }
}

TEST_CASE("a job whose last step succeeds has succeeded, even if it expired meanwhile") {
  Job running = running_job({"dns"});
  running.expires_at = noon;
  CHECK(end_attempt(running, end_of(Kind::succeeded), inputs, noon + 1s).state ==
        JobState::succeeded);
}

// --- Failure ---------------------------------------------------------------------------------

TEST_CASE("a rejected job fails at once, and its remaining steps are skipped") {
  const Job started = start_attempt(with_first_step_done(), lease, noon + 2s);
  const Job job = end_attempt(started, end_of(Kind::rejected), inputs_with_settle(5s), noon + 3s);
  CHECK(job.state == JobState::failed);
  CHECK(job.finished_at == noon + 3s);
  CHECK(job.error == JobError{"some_code", "some message", "billing"});
  CHECK(job.steps[0].state == StepState::succeeded);
  CHECK(job.steps[1].state == StepState::failed);
  CHECK(job.steps[1].finished_at == noon + 3s);
  CHECK(job.steps[1].attempts == 1);
  CHECK(job.steps[2].state == StepState::skipped);
  CHECK_FALSE(job.settle_until);  // The outcome is known.
  REQUIRE(job.messages.size() == 1);
  CHECK(job.messages[0] == Message{noon + 3s, Severity::error, "billing", "some message"});
}

TEST_CASE("a failed attempt is followed by another after the backoff") {
  const Job job = end_attempt(running_job(), end_of(Kind::retryable), inputs_with_settle(5s), noon);
  CHECK(job.state == JobState::retrying);
  CHECK(job.steps[0].state == StepState::retrying);
  CHECK(job.steps[0].attempts == 1);
  CHECK(job.next_attempt_at == noon + 500ms);  // The outcome is known, so nothing settles.
  CHECK(job.step == 0);
  CHECK(job.place == 1);
  CHECK_FALSE(job.error);
  REQUIRE(job.messages.size() == 1);
  CHECK(job.messages[0] == Message{noon, Severity::warning, "dns", "some message"});
}

TEST_CASE("the backoff grows with the attempts at a step") {
  const Job job = after_attempts(running_job(), Kind::retryable, 2);
  CHECK(job.next_attempt_at == noon + 1000ms);
}

TEST_CASE("a provider's Retry-After delays the next attempt") {
  AttemptEnd end = end_of(Kind::retryable);
  end.retry_after = 20s;
  CHECK(end_attempt(running_job(), end, inputs, noon).next_attempt_at == noon + 20s);
}

TEST_CASE("a step that uses up its attempts fails the job") {
  const Job twice = after_attempts(running_job(), Kind::retryable, 2);
  CHECK(twice.state == JobState::retrying);
  const Job job = after_attempts(twice, Kind::retryable, 1);
  CHECK(job.state == JobState::failed);
  CHECK(job.steps[0].attempts == 3);
  CHECK(job.steps[0].state == StepState::failed);
  CHECK(job.steps[1].state == StepState::skipped);
  CHECK(job.error == JobError{"some_code", "some message", "dns"});
  CHECK_FALSE(job.next_attempt_at);
  CHECK_FALSE(job.settle_until);
}

TEST_CASE("attempts are counted per step") {
  Job job = after_attempts(running_job(), Kind::retryable, 2);
  job = after_attempts(job, Kind::succeeded, 1);
  job = after_attempts(job, Kind::retryable, 2);
  CHECK(job.state == JobState::retrying);
  CHECK(job.steps[0].attempts == 3);
  CHECK(job.steps[1].attempts == 2);
}

TEST_CASE("throttled attempts are never counted") {
  const Job job = after_attempts(running_job(), Kind::throttled, 50);
  CHECK(job.state == JobState::retrying);
  CHECK(job.steps[0].state == StepState::retrying);
  CHECK(job.steps[0].attempts == 0);
  CHECK(job.next_attempt_at == noon + 500ms);
}

TEST_CASE("the longer a job has been throttled, the longer it waits") {
  Job job = after_attempts(running_job(), Kind::throttled, 1);
  const auto next_wait = [&](milliseconds since_first) {
    const auto now = *job.steps[0].started_at + since_first;
    return *end_attempt(start_attempt(job, lease, now), end_of(Kind::throttled), inputs, now)
                .next_attempt_at -
           now;
  };
  CHECK(next_wait(0ms) == 500ms);
  CHECK(next_wait(3s) == 2s);
  CHECK(next_wait(10s) == 8s);
  CHECK(next_wait(1h) == 30s);
  job.steps[0].attempts = 3;
  CHECK(next_wait(0ms) == 2s);
}

TEST_CASE("after a throttled attempt the job waits as long as the provider asks") {
  AttemptEnd end = end_of(Kind::throttled);
  end.retry_after = 90s;
  CHECK(end_attempt(running_job(), end, inputs, noon).next_attempt_at == noon + 90s);
}

TEST_CASE("a throttled attempt does not change the count of earlier attempts") {
  const Job job =
      after_attempts(after_attempts(running_job(), Kind::retryable, 2), Kind::throttled, 1);
  CHECK(job.steps[0].attempts == 2);
  CHECK(after_attempts(job, Kind::retryable, 1).state == JobState::failed);
}

// --- Unknown outcomes ------------------------------------------------------------------------

TEST_CASE("after an unknown outcome the next attempt waits for the entity to settle") {
  CHECK(after_attempts(running_job(), Kind::unknown, 1, inputs_with_settle(5s)).next_attempt_at ==
        noon + 5s);
  CHECK(
      after_attempts(running_job(), Kind::unknown, 1, inputs_with_settle(100ms)).next_attempt_at ==
      noon + 500ms);
  CHECK(after_attempts(running_job(), Kind::unknown, 1).next_attempt_at == noon + 500ms);
}

TEST_CASE("a job that fails with an unknown outcome keeps its entity while it settles") {
  const Job job = after_attempts(running_job(), Kind::unknown, 3, inputs_with_settle(5s));
  CHECK(job.state == JobState::failed);
  CHECK(job.settle_until == noon + 5s);
  CHECK(job.place == 1);
  CHECK_FALSE(after_attempts(running_job(), Kind::unknown, 3).settle_until);
}

TEST_CASE("a job that expires while it runs fails, and its entity settles") {
  Job running = running_job();
  running.expires_at = noon + 1s;
  const Job job =
      end_attempt(running, end_of(Kind::expired), inputs_with_settle(5s), noon + 1100ms);
  CHECK(job.state == JobState::failed);
  CHECK(job.error->code == "some_code");
  CHECK(job.error->service == "dns");
  CHECK(job.steps[0].state == StepState::failed);
  CHECK(job.steps[0].attempts == 1);
  CHECK(job.steps[1].state == StepState::skipped);
  CHECK(job.settle_until == noon + 6100ms);
  CHECK_FALSE(end_attempt(running, end_of(Kind::expired), inputs, noon + 1s).settle_until);
}

// --- Interruptions and shutdowns -------------------------------------------------------------

TEST_CASE("an interrupted job is queued again, without counting the attempt") {
  const Job job = after_attempts(running_job(), Kind::interrupted, 1);
  CHECK(job.state == JobState::queued);
  CHECK(job.interruptions == 1);
  CHECK(job.steps[0].state == StepState::waiting);
  CHECK(job.steps[0].attempts == 0);
  CHECK(job.place == 1);
  CHECK_FALSE(job.next_attempt_at);
  CHECK_FALSE(job.error);
}

TEST_CASE("an interrupted job waits for its entity to settle") {
  const Job job = after_attempts(running_job(), Kind::interrupted, 1, inputs_with_settle(5s));
  CHECK(job.state == JobState::retrying);
  CHECK(job.steps[0].state == StepState::retrying);
  CHECK(job.steps[0].attempts == 0);
  CHECK(job.next_attempt_at == noon + 5s);
}

TEST_CASE("a job interrupted three times in a row fails, and its entity settles") {
  const Job twice = after_attempts(running_job(), Kind::interrupted, 2);
  CHECK(twice.state == JobState::queued);
  const Job job = after_attempts(twice, Kind::interrupted, 1, inputs_with_settle(5s));
  CHECK(job.state == JobState::failed);
  CHECK(job.interruptions == 3);
  CHECK(job.error == JobError{"some_code", "some message", "dns"});
  CHECK(job.steps[0].state == StepState::failed);
  CHECK(job.steps[0].attempts == 0);
  CHECK(job.steps[1].state == StepState::skipped);
  CHECK(job.settle_until == noon + 5s);
}

TEST_CASE("a job that is handed back is as it was before the attempt") {
  const Job job = after_attempts(running_job(), Kind::handed_back, 1);
  CHECK(job.state == JobState::queued);
  CHECK(job.steps[0].state == StepState::waiting);
  CHECK(job.steps[0].attempts == 0);
  CHECK(job.interruptions == 0);
  CHECK(job.messages.empty());
  CHECK_FALSE(job.next_attempt_at);
  CHECK_FALSE(job.settle_until);
}

TEST_CASE("a job handed back after counted attempts keeps their count") {
  const Job job =
      after_attempts(after_attempts(running_job(), Kind::retryable, 1), Kind::handed_back, 1);
  CHECK(job.state == JobState::queued);
  CHECK(job.steps[0].state == StepState::retrying);
  CHECK(job.steps[0].attempts == 1);
}

TEST_CASE("a job handed back waits for its entity to settle") {
  const Job job = after_attempts(running_job(), Kind::handed_back, 1, inputs_with_settle(5s));
  CHECK(job.state == JobState::retrying);
  CHECK(job.next_attempt_at == noon + 5s);
  CHECK(job.steps[0].attempts == 0);
}

TEST_CASE("a job can be handed back any number of times") {
  const Job job = after_attempts(running_job(), Kind::handed_back, 50);
  CHECK(job.state == JobState::queued);
  CHECK(job.interruptions == 0);
}

// --- Operations ------------------------------------------------------------------------------

namespace {

AttemptEnd pending_end(const char* operation, std::optional<milliseconds> wait = 2000ms) {
  AttemptEnd end = end_of(Kind::pending);
  end.operation = operation;
  end.retry_after = wait;
  return end;
}

}  // namespace

TEST_CASE("an attempt that awaits an operation goes on as the same attempt") {
  Job job = running_job();
  for (int polls = 1; polls <= 5; ++polls) {
    const auto now = noon + polls * 10s;
    job = end_attempt(job, pending_end("id"), inputs, now);
    CHECK(job.state == JobState::retrying);
    CHECK(job.next_attempt_at == now + 2000ms);
    CHECK(job.steps[0].state == StepState::running);
    CHECK(job.steps[0].operation == "id");
    CHECK(job.steps[0].attempts == 1);
    CHECK(job.messages.empty());
    job = start_attempt(job, lease, now + 2000ms);
    CHECK(job.state == JobState::running);
    CHECK(job.steps[0].attempts == 1);
  }
  const Job done = end_attempt(job, end_of(Kind::succeeded), inputs, noon + 60s);
  CHECK(done.steps[0].state == StepState::succeeded);
  CHECK(done.steps[0].operation.empty());
}

TEST_CASE("a provider cannot make a job wait for its operation for ever") {
  const auto waits_until = [](std::optional<milliseconds> wait) {
    return end_attempt(running_job(), pending_end("id", wait), inputs, noon).next_attempt_at;
  };
  CHECK(waits_until(std::nullopt) == noon);
  CHECK(waits_until(-5ms) == noon);
  CHECK(waits_until(1'000'000'000'000ms) == noon + 24h);
}

TEST_CASE("later attempts keep the operation, until it is known to have failed") {
  const Job waiting = end_attempt(running_job(), pending_end("id"), inputs, noon);
  const Job polling = start_attempt(waiting, lease, noon + 2s);
  for (const Kind kind : {Kind::retryable, Kind::throttled, Kind::unknown, Kind::interrupted,
                          Kind::handed_back, Kind::expired, Kind::cancelled}) {
    CAPTURE(static_cast<int>(kind));
    const Job job = end_attempt(polling, end_of(kind), inputs, noon + 3s);
    CHECK(job.steps[0].operation == "id");
    if (is_ended(job.state)) {
      CHECK(reopen(job, {"acme", "dns"}, 9, noon + 4s).steps[0].operation == "id");
    } else {
      const Job next = start_attempt(job, lease, noon + 9s);
      CHECK(next.steps[0].attempts == (kind == Kind::retryable || kind == Kind::unknown ? 2 : 1));
    }
  }
  const Job failed = end_attempt(polling, end_of(Kind::rejected), inputs, noon + 3s);
  CHECK(failed.state == JobState::failed);
  CHECK(failed.steps[0].operation.empty());
}

TEST_CASE("a failure may change what is kept of an operation") {
  AttemptEnd end = end_of(Kind::retryable);
  end.operation = "other";
  CHECK(end_attempt(running_job(), end, inputs, noon).steps[0].operation == "other");
}

TEST_CASE("a job that awaits an operation can be cancelled and can expire") {
  const Job waiting = end_attempt(running_job(), pending_end("id"), inputs, noon);
  for (const Job& job : {cancel_waiting(waiting, noon + 1s), expire_waiting(waiting, noon + 1s)}) {
    CHECK(is_ended(job.state));
    CHECK(job.steps[0].state == StepState::failed);
    CHECK(job.steps[0].finished_at == noon + 1s);
    CHECK(job.steps[1].state == StepState::skipped);
    CHECK_FALSE(job.next_attempt_at);
  }
}

TEST_CASE("an entity settles once its operation is given up, not while celld asks for it") {
  const auto settling = inputs_with_settle(5s);
  const Job waiting = end_attempt(running_job(), pending_end("id", 3600s), settling, noon);
  CHECK(waiting.next_attempt_at == noon + 3600s);
  CHECK(start_attempt(waiting, lease, noon + 3600s).settle_until == std::nullopt);
  for (const Job& job : {cancel_waiting(waiting, noon + 1s), expire_waiting(waiting, noon + 1s),
                         cancel_follower(waiting, noon + 1s)}) {
    CHECK(is_ended(job.state));
    CHECK(job.settle_until == noon + 6s);
  }
  const Job polling = start_attempt(waiting, lease, noon + 3600s);
  const Job failing = end_attempt(polling, end_of(Kind::retryable), settling, noon + 3601s);
  CHECK(failing.next_attempt_at < noon + 3603s);  // The next poll need not wait.
  CHECK(cancel_waiting(failing, noon + 3602s).settle_until == noon + 3607s);
  const Job busy = end_attempt(polling, end_of(Kind::throttled), settling, noon + 3601s);
  CHECK(cancel_waiting(busy, noon + 3602s).settle_until == noon + 3607s);
  CHECK_FALSE(cancel_waiting(end_attempt(running_job(), pending_end("id"), inputs, noon), noon + 1s)
                  .settle_until);
}

TEST_CASE("a job that is reopened and cancelled while its operation settles keeps its entity") {
  const Job waiting = end_attempt(running_job(), pending_end("id"), inputs_with_settle(5s), noon);
  Job cancelled = cancel_waiting(waiting, noon + 1s);
  cancelled.place = 7;
  const Job reopened = reopen(cancelled, {"acme", "dns"}, 9, noon + 2s);
  CHECK(reopened.next_attempt_at == noon + 6s);
  CHECK(cancel_waiting(reopened, noon + 3s).settle_until == noon + 6s);
}

TEST_CASE("an entity settles after the last failed poll of an operation") {
  const auto settling = inputs_with_settle(5s);
  Job job = end_attempt(running_job(), pending_end("id"), settling, noon);
  for (int poll = 1; !is_ended(job.state); ++poll) {
    REQUIRE(poll < 10);
    job = start_attempt(job, lease, noon + poll * 100s);
    job = end_attempt(job, end_of(Kind::retryable), settling, noon + poll * 100s + 1s);
  }
  CHECK(job.settle_until == *job.finished_at + 5s);
  const Job polling = start_attempt(end_attempt(running_job(), pending_end("id"), settling, noon),
                                    lease, noon + 2s);
  CHECK_FALSE(end_attempt(polling, end_of(Kind::rejected), settling, noon + 3s).settle_until);
  CHECK_FALSE(end_attempt(polling, end_of(Kind::succeeded), settling, noon + 3s).settle_until);
  Job cancelled = request_cancel(polling);
  cancelled = end_attempt(cancelled, end_of(Kind::retryable), settling, noon + 3s);
  CHECK(cancelled.settle_until == noon + 8s);
}

TEST_CASE("an undo waits for an operation that was given up") {
  Job job = running_job();
  auto spec = *job.spec;
  spec.on_failure = OnFailure::compensate;
  job.spec = std::make_shared<const JobSpec>(spec);
  const Job waiting = end_attempt(job, pending_end("id"), inputs_with_settle(5s), noon);
  const Job undoing = expire_waiting(waiting, noon + 1s);
  CHECK(undoing.state == JobState::compensating);
  CHECK(undoing.next_attempt_at == noon + 6s);
}

// --- Expiry while waiting --------------------------------------------------------------------

TEST_CASE("a job that expires before its first attempt skips all its steps") {
  Job waiting = queued_job();
  waiting.state = GENERATE(JobState::scheduled, JobState::queued);
  const Job job = expire_waiting(waiting, noon + 1s);
  CHECK(job.state == JobState::failed);
  CHECK(job.finished_at == noon + 1s);
  CHECK(job.error->code == "expired");
  CHECK(job.error->service.empty());
  CHECK(job.steps[0].state == StepState::skipped);
  CHECK(job.steps[1].state == StepState::skipped);
  CHECK_FALSE(job.started_at);
  CHECK_FALSE(job.settle_until);
  REQUIRE(job.messages.size() == 1);
  CHECK(job.messages[0].severity == Severity::error);
}

TEST_CASE("a job that expires between two attempts fails its current step") {
  const Job job = expire_waiting(after_attempts(running_job(), Kind::retryable, 1), noon + 1s);
  CHECK(job.state == JobState::failed);
  CHECK(job.error->code == "expired");
  CHECK(job.steps[0].state == StepState::failed);
  CHECK(job.steps[0].attempts == 1);
  CHECK(job.steps[0].finished_at == noon + 1s);
  CHECK(job.steps[1].state == StepState::skipped);
  CHECK_FALSE(job.next_attempt_at);
}

TEST_CASE("a job that expires between two steps keeps the success of the first") {
  const Job job = expire_waiting(with_first_step_done(), noon + 2s);
  CHECK(job.state == JobState::failed);
  CHECK(job.steps[0].state == StepState::succeeded);
  CHECK(job.steps[1].state == StepState::skipped);
  CHECK(job.steps[2].state == StepState::skipped);
}

TEST_CASE("a job that expires while its entity settles keeps the entity until it has settled") {
  const Job settling = after_attempts(running_job(), Kind::unknown, 1, inputs_with_settle(60s));
  REQUIRE(settling.next_attempt_at == noon + 60s);
  const Job job = expire_waiting(settling, noon + 10s);
  CHECK(job.settle_until == noon + 60s);
}

TEST_CASE("a job that expires after its entity has settled releases the entity") {
  const Job settling = after_attempts(running_job(), Kind::unknown, 1, inputs_with_settle(60s));
  CHECK_FALSE(expire_waiting(settling, noon + 60s).settle_until);
}

// --- Cancelling ------------------------------------------------------------------------------

TEST_CASE("a waiting job is cancelled at once") {
  const Job job = cancel_waiting(with_first_step_done(), noon + 2s);
  CHECK(job.state == JobState::cancelled);
  CHECK(job.finished_at == noon + 2s);
  CHECK(job.steps[0].state == StepState::succeeded);
  CHECK(job.steps[1].state == StepState::skipped);
}

TEST_CASE("a job marked for cancellation is cancelled, however its attempt ends") {
  for (int i = 0; i <= static_cast<int>(Kind::pending); ++i) {
    const auto kind = static_cast<Kind>(i);
    CAPTURE(i);
    const Job running = request_cancel(running_job());
    CHECK(running.state == JobState::running);
    const Job job = end_attempt(running, end_of(kind), inputs_with_settle(60s), noon + 1s);
    CHECK(job.state == JobState::cancelled);
    CHECK(job.finished_at == noon + 1s);
    CHECK(job.steps[1].state == StepState::skipped);
    const bool succeeded = kind == Kind::succeeded;
    CHECK((job.steps[0].state == StepState::succeeded) == succeeded);
    const bool reported = kind == Kind::rejected || kind == Kind::retryable ||
                          kind == Kind::throttled || kind == Kind::unknown;
    CHECK(job.messages.size() == (reported ? 1 : 0));
    const Message warning{noon + 1s, Severity::warning, "dns", "some message"};
    if (reported) CHECK(job.messages[0] == warning);
    const bool known =
        succeeded || kind == Kind::rejected || kind == Kind::retryable || kind == Kind::throttled;
    CHECK(job.settle_until.has_value() != known);
  }
}

// --- Reopening -------------------------------------------------------------------------------

TEST_CASE("only a failed or cancelled job can be reopened") {
  for (std::size_t i = 0; i < job_state_count; ++i) {
    Job job = queued_job();
    job.state = static_cast<JobState>(i);
    CAPTURE(to_string(job.state));
    CHECK(can_reopen(job) == (job.state == JobState::failed || job.state == JobState::cancelled));
  }
}

TEST_CASE("a reopened job resumes at the failed step, at the end of its entity's line") {
  Job failed = end_attempt(start_attempt(with_first_step_done(), lease, noon),
                           end_of(Kind::rejected), inputs, noon);
  failed.place = 0;
  failed.expires_at = noon + 1h;
  const Job job = reopen(failed, {"acme", "*"}, 99, noon + 5s);
  CHECK(job.state == JobState::queued);
  CHECK(job.cell == CellKey{"acme", "*"});
  CHECK(job.place == 99);
  CHECK(job.run_at == noon + 5s);
  CHECK(job.expires_at == noon + 1h);
  CHECK_FALSE(job.error);
  CHECK_FALSE(job.finished_at);
  CHECK(job.steps[0].state == StepState::succeeded);
  CHECK(job.steps[1] == Step{});
  CHECK(job.steps[2] == Step{});
}

TEST_CASE("the interruptions of a job before it was reopened do not count") {
  const Job failed = after_attempts(running_job(), Kind::interrupted, 3);
  REQUIRE(failed.state == JobState::failed);
  CHECK(reopen(failed, {"acme", "dns"}, 2, noon).interruptions == 0);
}

TEST_CASE("a job reopened after its expiry no longer expires") {
  Job waiting = queued_job();
  waiting.expires_at = noon + 1s;
  const Job job = reopen(expire_waiting(waiting, noon + 1s), {"acme", "dns"}, 2, noon + 1s);
  CHECK(job.state == JobState::queued);
  CHECK_FALSE(job.expires_at);
}

TEST_CASE("a job reopened while its entity settles keeps its place, and waits") {
  Job failed = after_attempts(running_job(), Kind::unknown, 3, inputs_with_settle(60s));
  REQUIRE(failed.state == JobState::failed);
  REQUIRE(failed.settle_until == noon + 60s);
  Job job = reopen(failed, {"acme", "dns"}, 99, noon + 1s);
  CHECK(job.state == JobState::retrying);
  CHECK(job.next_attempt_at == noon + 60s);
  CHECK(job.place == failed.place);
  failed.place = 0;  // The job has released its entity.
  job = reopen(failed, {"acme", "dns"}, 99, noon + 61s);
  CHECK(job.state == JobState::queued);
  CHECK(job.place == 99);
  CHECK_FALSE(job.settle_until);
}

TEST_CASE("a job cancelled after its last step has succeeded once it is reopened") {
  const Job cancelled =
      end_attempt(request_cancel(running_job({"dns"})), end_of(Kind::succeeded), inputs, noon);
  REQUIRE(cancelled.state == JobState::cancelled);
  const Job job = reopen(cancelled, {"acme", "dns"}, 99, noon + 1s);
  CHECK(job.state == JobState::succeeded);
  CHECK(job.finished_at == noon + 1s);
}

// --- Checkpoints -----------------------------------------------------------------------------

TEST_CASE("no end of an attempt changes a step that has succeeded, or its properties") {
  AttemptEnd first = end_of(Kind::succeeded);
  first.properties = {{"zone", "\"z1\""}};
  const Job kept = end_attempt(running_job({"dns", "billing", "mail"}), first, inputs, noon);
  const auto settle = GENERATE(0ms, 5000ms);
  for (int kind = 0; kind <= static_cast<int>(Kind::pending); ++kind) {
    for (const int attempts : {1, 2, 3}) {
      CAPTURE(kind, attempts);
      const Job job =
          after_attempts(kept, static_cast<Kind>(kind), attempts, inputs_with_settle(settle));
      CHECK(job.step >= 1);
      CHECK(job.steps[0] == kept.steps[0]);
      CHECK(job.properties == kept.properties);
    }
  }
  CHECK(expire_waiting(kept, noon).properties == kept.properties);
}

TEST_CASE("a job has a time for its next attempt exactly while it is retrying") {
  for (int kind = 0; kind <= static_cast<int>(Kind::pending); ++kind) {
    for (const int attempts : {1, 2, 3}) {
      CAPTURE(kind, attempts);
      const auto settle = attempts == 2 ? 5000ms : 0ms;
      const Job job = after_attempts(running_job(), static_cast<Kind>(kind), attempts,
                                     inputs_with_settle(settle));
      CHECK((job.state == JobState::retrying) == job.next_attempt_at.has_value());
      CHECK(is_ended(job.state) == job.finished_at.has_value());
      CHECK((job.state == JobState::failed) == job.error.has_value());
      CHECK(job.lease == lease);
    }
  }
}
