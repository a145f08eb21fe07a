// Compensation: what a job that fails for good has undone, and how.
#include "cells/model/job_machine.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"

using namespace model_test;
using Kind = AttemptEnd::Kind;

namespace {

constexpr Lease lease{3, 7};

AttemptEnd end_of(Kind kind, std::string code = "some_code") {
  AttemptEnd end;
  end.kind = kind;
  end.code = std::move(code);
  end.message = "some message";
  return end;
}

RetryInputs inputs_with_settle(milliseconds settle) {
  return {RetryPolicy{3, 1000ms, 60000ms}, settle, 0.5};
}

const RetryInputs inputs = inputs_with_settle(0ms);

JobSpec spec_to_undo(std::vector<std::string> services = {"dns", "billing", "mail"}) {
  auto spec = spec_with_services(std::move(services));
  spec.on_failure = OnFailure::compensate;
  return spec;
}

Job next_attempt(const Job& job) {
  return start_attempt(job, lease, noon);
}

Job after(const Job& job, Kind kind, const RetryInputs& by = inputs) {
  return end_attempt(next_attempt(job), end_of(kind), by, noon + 1s);
}

/// The job with its first `count` steps done.
Job with_steps_done(int count) {
  Job job = queued_job(spec_to_undo());
  for (int i = 0; i < count; ++i) job = after(job, Kind::succeeded);
  return job;
}

std::vector<StepState> states_of(const Job& job) {
  std::vector<StepState> states;
  for (const auto& step : job.steps) states.push_back(step.state);
  return states;
}

/// Undoes what is to be undone; returns the indexes of the steps, in order.
std::vector<std::size_t> undo_all(Job job) {
  std::vector<std::size_t> undone;
  while (job.state == JobState::compensating) {
    undone.push_back(job.step);
    job = after(job, Kind::succeeded);
  }
  CHECK(job.state == JobState::failed);
  return undone;
}

using S = StepState;
using States = std::vector<StepState>;
using Indexes = std::vector<std::size_t>;

}  // namespace

TEST_CASE("a job that fails for good undoes the steps that succeeded, the last first") {
  Job job = after(with_steps_done(2), Kind::rejected);
  CHECK(job.state == JobState::compensating);
  CHECK(is_compensating(job));
  CHECK(job.step == 1);
  CHECK(states_of(job) == States{S::succeeded, S::succeeded, S::failed});
  REQUIRE(job.error);
  CHECK(*job.error == JobError{"some_code", "some message", "mail"});
  CHECK_FALSE(job.finished_at);
  CHECK_FALSE(job.next_attempt_at);

  job = next_attempt(job);
  CHECK(job.state == JobState::running);
  CHECK(shown_state(job) == JobState::compensating);
  CHECK(job.steps[1].state == S::running);
  CHECK_FALSE(job.steps[1].finished_at);
  CHECK((job.steps[1].attempts == 1 && job.steps[1].undo_attempts == 1));
  CHECK(current_attempt(job) == 1);

  job = end_attempt(job, end_of(Kind::succeeded), inputs, noon + 2s);
  CHECK(job.state == JobState::compensating);
  CHECK(job.step == 0);
  CHECK(states_of(job) == States{S::succeeded, S::undone, S::failed});
  CHECK(job.steps[1].finished_at == noon + 2s);

  job = after(job, Kind::succeeded);
  CHECK(job.state == JobState::failed);
  CHECK(states_of(job) == States{S::undone, S::undone, S::failed});
  CHECK(job.error->code == "some_code");
  CHECK(job.finished_at == noon + 1s);
  CHECK_FALSE(is_compensating(job));
}

TEST_CASE("a job compensates only if it is to, and has something to undo") {
  SECTION("a job that stops") {
    Job job = queued_job(spec_with_services({"dns", "billing"}));
    job = after(after(job, Kind::succeeded), Kind::rejected);
    CHECK(job.state == JobState::failed);
    CHECK(states_of(job) == States{S::succeeded, S::failed});
  }
  SECTION("a job that did nothing") {
    const Job job = after(with_steps_done(0), Kind::rejected);
    CHECK(job.state == JobState::failed);
    CHECK(states_of(job) == States{S::failed, S::skipped, S::skipped});
  }
  SECTION("a cancelled job") {
    const Job job = end_attempt(request_cancel(next_attempt(with_steps_done(1))),
                                end_of(Kind::rejected), inputs, noon);
    CHECK(job.state == JobState::cancelled);
    CHECK(cancel_waiting(with_steps_done(1), noon).state == JobState::cancelled);
  }
}

TEST_CASE("the failed step is undone first if the outcome of any attempt is unknown") {
  const auto undone_after = [](std::vector<AttemptEnd> ends) {
    Job job = with_steps_done(1);
    for (const auto& end : ends) job = end_attempt(next_attempt(job), end, inputs, noon);
    return undo_all(job);
  };
  CHECK(undone_after({end_of(Kind::rejected)}) == Indexes{0});
  CHECK(undone_after({end_of(Kind::retryable), end_of(Kind::rejected)}) == Indexes{0});
  CHECK(undone_after({end_of(Kind::throttled), end_of(Kind::rejected)}) == Indexes{0});
  CHECK(undone_after({end_of(Kind::unknown), end_of(Kind::rejected)}) == Indexes{1, 0});
  CHECK(undone_after({end_of(Kind::interrupted), end_of(Kind::rejected)}) == Indexes{1, 0});
  CHECK(undone_after({end_of(Kind::handed_back), end_of(Kind::rejected)}) == Indexes{1, 0});
  CHECK(undone_after({end_of(Kind::expired)}) == Indexes{1, 0});
  // The provider may have done what it was asked for, and answered badly.
  CHECK(undone_after({end_of(Kind::retryable, "invalid_response"), end_of(Kind::rejected)}) ==
        Indexes{1, 0});
  // A provider that refuses may use any code.
  CHECK(undone_after({end_of(Kind::rejected, "invalid_response")}) == Indexes{0});
  AttemptEnd never = end_of(Kind::handed_back);
  never.never_began = true;
  CHECK(undone_after({never, end_of(Kind::rejected)}) == Indexes{0});
}

TEST_CASE("a step whose properties do not fit was done, and is undone") {
  AttemptEnd large = end_of(Kind::succeeded);
  large.properties["large"] = std::string(properties_bytes_max, 'x');
  Job job = with_steps_done(1);
  while (!is_compensating(job)) job = end_attempt(next_attempt(job), large, inputs, noon);
  CHECK(undo_all(job) == Indexes{1, 0});
}

TEST_CASE("an operation that has begun is undone, unless the provider says that it failed") {
  AttemptEnd begun = end_of(Kind::pending);
  begun.operation = "op";
  Job job = end_attempt(next_attempt(with_steps_done(1)), begun, inputs, noon);
  SECTION("it is rejected") {
    CHECK(undo_all(after(job, Kind::rejected)) == Indexes{0});
  }
  SECTION("the poll is rejected, and the operation may go on") {
    AttemptEnd unclear = end_of(Kind::rejected);
    unclear.in_doubt = true;
    CHECK(undo_all(end_attempt(next_attempt(job), unclear, inputs, noon)) == Indexes{1, 0});
  }
  SECTION("polls fail until no attempt is left") {
    while (!is_compensating(job)) job = after(job, Kind::retryable);
    CHECK(job.steps[1].operation.empty());  // The undo begins an operation of its own.
    CHECK(undo_all(job) == Indexes{1, 0});
  }
  SECTION("the job expires while it waits") {
    job = expire_waiting(job, noon);
    CHECK(states_of(job) == States{S::succeeded, S::failed, S::skipped});
    CHECK(undo_all(job) == Indexes{1, 0});
  }
}

TEST_CASE("a step that was cut short, and not tried again before the job expired, has failed") {
  const Job job = expire_waiting(after(with_steps_done(1), Kind::handed_back), noon + 3s);
  CHECK(states_of(job) == States{S::succeeded, S::failed, S::skipped});
  CHECK(job.steps[1].finished_at == noon + 3s);
  CHECK(undo_all(job) == Indexes{1, 0});
}

TEST_CASE("an undo may begin an operation, too") {
  Job job = after(with_steps_done(1), Kind::rejected);
  AttemptEnd begun = end_of(Kind::pending);
  begun.operation = "op";
  begun.retry_after = 5s;
  job = end_attempt(next_attempt(job), begun, inputs, noon);
  CHECK(job.state == JobState::compensating);
  CHECK(job.next_attempt_at == noon + 5s);
  CHECK(job.steps[0].state == S::running);
  job = next_attempt(job);
  CHECK(current_attempt(job) == 1);
  CHECK(job.steps[0].operation == "op");
  job = end_attempt(job, end_of(Kind::succeeded), inputs, noon);
  CHECK(job.state == JobState::failed);
  CHECK(job.steps[0].operation.empty());
}

TEST_CASE("a job that expires compensates, and then can neither expire nor be cancelled") {
  Job job = with_steps_done(1);
  job.expires_at = noon + 1s;
  SECTION("while it waits") {
    job = expire_waiting(job, noon + 1s);
  }
  SECTION("after a success") {
    job = end_attempt(start_attempt(job, lease, noon), end_of(Kind::succeeded), inputs, noon + 1s);
    CHECK(states_of(job) == States{S::succeeded, S::succeeded, S::skipped});
  }
  CHECK(job.state == JobState::compensating);
  CHECK(job.error->code == "expired");
  CHECK_FALSE(expiry_of(job));
  CHECK_FALSE(can_cancel(job));
  while (job.state == JobState::compensating) {
    job = start_attempt(job, lease, noon + 2s);
    CHECK_FALSE(can_cancel(job));
    job = end_attempt(job, end_of(Kind::succeeded), inputs, noon + 2s);
  }
  CHECK(job.state == JobState::failed);
  CHECK(job.error->code == "expired");
}

TEST_CASE("each undo has attempts of its own, and the others follow one that fails for good") {
  Job job = after(with_steps_done(2), Kind::rejected);
  job = after(job, Kind::retryable);
  CHECK(job.state == JobState::compensating);
  CHECK(job.next_attempt_at == noon + 1s + 500ms);
  CHECK(job.steps[1].state == S::retrying);
  job = after(after(job, Kind::unknown), Kind::retryable);
  CHECK(states_of(job) == States{S::succeeded, S::undo_failed, S::failed});
  CHECK(job.steps[1].undo_attempts == 3);
  CHECK_FALSE(job.next_attempt_at);
  const auto& message = job.messages.back();
  CHECK(message.severity == Severity::error);
  CHECK(message.service == "billing");
  CHECK(message.text == "cannot be undone: some message");
  job = after(job, Kind::succeeded);
  CHECK(states_of(job) == States{S::undone, S::undo_failed, S::failed});
  CHECK(job.error->service == "mail");
}

TEST_CASE("an undo is rejected once, and interrupted three times") {
  Job job = after(with_steps_done(1), Kind::rejected);
  SECTION("rejected") {
    job = after(job, Kind::rejected);
  }
  SECTION("interrupted") {
    for (int i = 0; i < 2; ++i) {
      job = after(job, Kind::interrupted);
      CHECK(job.state == JobState::compensating);
      CHECK(job.steps[0].state == S::retrying);
      CHECK(job.steps[0].undo_attempts == 0);
    }
    job = after(job, Kind::interrupted);
  }
  CHECK(job.state == JobState::failed);
  CHECK(states_of(job) == States{S::undo_failed, S::failed, S::skipped});
}

TEST_CASE("interruptions of a step do not count against its undo") {
  Job job = with_steps_done(1);
  for (int i = 0; i < 3; ++i) job = after(job, Kind::interrupted);
  REQUIRE(job.state == JobState::compensating);
  CHECK(job.interruptions == 0);
  job = after(job, Kind::interrupted);
  CHECK(job.step == 1);
  CHECK(job.steps[1].state == S::retrying);
}

TEST_CASE("an undo that is handed back or throttled is not counted") {
  Job job = after(with_steps_done(1), Kind::rejected);
  for (int i = 0; i < 5; ++i) {
    job = after(job, i % 2 == 0 ? Kind::handed_back : Kind::throttled);
    CHECK(job.state == JobState::compensating);
    CHECK(job.steps[0].undo_attempts == 0);
  }
}

TEST_CASE("the next undo waits until the entity has settled") {
  const auto settle = inputs_with_settle(9s);
  Job job = with_steps_done(2);
  while (!is_compensating(job)) job = after(job, Kind::unknown, settle);
  CHECK(job.step == 2);
  CHECK(job.next_attempt_at == noon + 1s + 9s);
  while (job.step == 2) job = after(job, Kind::unknown, settle);
  CHECK(job.next_attempt_at == noon + 1s + 9s);
  CHECK(after(job, Kind::succeeded).next_attempt_at == std::nullopt);
  while (job.step == 1) job = after(job, Kind::unknown, settle);
  while (!is_ended(job.state)) job = after(job, Kind::unknown, settle);
  CHECK(states_of(job) == States{S::undo_failed, S::undo_failed, S::undo_failed});
  CHECK(job.settle_until == noon + 1s + 9s);
  CHECK_FALSE(job.next_attempt_at);
}

TEST_CASE("an undo adds messages, but no properties") {
  AttemptEnd end = end_of(Kind::succeeded);
  end.properties["zone"] = "1";
  end.messages.push_back({noon, Severity::info, "dns", "gone"});
  Job job = end_attempt(next_attempt(after(with_steps_done(1), Kind::rejected)), end, inputs, noon);
  CHECK(job.properties.empty());
  CHECK(job.messages.back().text == "gone");
}

TEST_CASE("a job with an undone step cannot be reopened") {
  const Job failed = after(with_steps_done(1), Kind::rejected);
  CHECK_FALSE(can_reopen(failed));
  CHECK_FALSE(can_reopen(after(failed, Kind::succeeded)));
}

TEST_CASE("a reopened job whose undos failed starts afresh, and would undo all of that") {
  Job job = after(after(with_steps_done(1), Kind::unknown), Kind::rejected);
  while (!is_ended(job.state)) job = after(job, Kind::rejected);
  CHECK(states_of(job) == States{S::undo_failed, S::undo_failed, S::skipped});
  REQUIRE(can_reopen(job));
  job.failed_ahead = 5;
  job = reopen(job, job.cell, 9, noon);
  CHECK((job.state == JobState::queued && job.step == 0 && job.place == 9));
  CHECK(states_of(job) == States{S::waiting, S::waiting, S::waiting});
  CHECK((job.failed_ahead == 0 && !job.error));
  CHECK(undo_all(after(job, Kind::rejected)) == Indexes{1, 0});
}

TEST_CASE("a job that compensates may call what it has to undo, and nothing else") {
  const auto calls = [](const Job& job) {
    Indexes steps;
    for (std::size_t i = 0; i < job.steps.size(); ++i) {
      if (may_call(job, i)) steps.push_back(i);
    }
    return steps;
  };
  CHECK(calls(with_steps_done(1)) == Indexes{0, 1, 2});
  CHECK(may_undo(with_steps_done(1), 2));
  CHECK(calls(after(with_steps_done(2), Kind::rejected)) == Indexes{0, 1});
  CHECK_FALSE(may_undo(after(with_steps_done(2), Kind::rejected), 2));
  Job stops = queued_job(spec_with_services({"dns", "billing"}));
  CHECK(calls(after(stops, Kind::succeeded)) == Indexes{1});
  CHECK_FALSE(may_undo(stops, 0));
}

TEST_CASE("a follower of a failed job is cancelled, with an error that says why") {
  const Job job = cancel_follower(queued_job(), noon + 1s);
  CHECK(job.state == JobState::cancelled);
  CHECK(job.error->code == "predecessor_failed");
  CHECK(job.finished_at == noon + 1s);
  CHECK_FALSE(job.cancel_requested);
  CHECK(states_of(job) == States{S::skipped, S::skipped});
}
