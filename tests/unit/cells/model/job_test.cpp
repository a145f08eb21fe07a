#include "cells/model/job.hpp"

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"

using namespace model_test;

TEST_CASE("every job state survives conversion to text and back") {
  for (std::size_t i = 0; i < job_state_count; ++i) {
    const auto state = static_cast<JobState>(i);
    CAPTURE(to_string(state));
    CHECK(parse_job_state(to_string(state)) == state);
  }
  CHECK(to_string(JobState::scheduled) == "scheduled");
  CHECK(to_string(JobState::compensating) == "compensating");
  CHECK(to_string(JobState::cancelled) == "cancelled");
}

TEST_CASE("every step state survives conversion to text and back") {
  for (int i = 0; i <= static_cast<int>(StepState::skipped); ++i) {
    const auto state = static_cast<StepState>(i);
    CAPTURE(to_string(state));
    CHECK(parse_step_state(to_string(state)) == state);
  }
  CHECK(to_string(StepState::waiting) == "waiting");
  CHECK(to_string(StepState::undo_failed) == "undo_failed");
}

TEST_CASE("severities and failure policies survive conversion to text and back") {
  for (const auto severity : {Severity::info, Severity::warning, Severity::error}) {
    CHECK(parse_severity(to_string(severity)) == severity);
  }
  CHECK(to_string(Severity::warning) == "warning");
  CHECK(parse_on_failure(to_string(OnFailure::stop)) == OnFailure::stop);
}

TEST_CASE("an unknown name parses as nothing") {
  for (const auto* name : {"", "Queued", "queued ", "undone?"}) {
    CAPTURE(name);
    CHECK_FALSE(parse_job_state(name));
    CHECK_FALSE(parse_step_state(name));
    CHECK_FALSE(parse_severity(name));
    CHECK_FALSE(parse_on_failure(name));
  }
}

TEST_CASE("a job has ended when it succeeded, failed or was cancelled") {
  for (std::size_t i = 0; i < job_state_count; ++i) {
    const auto state = static_cast<JobState>(i);
    const bool ended =
        state == JobState::succeeded || state == JobState::failed || state == JobState::cancelled;
    CAPTURE(to_string(state));
    CHECK(is_ended(state) == ended);
  }
}

TEST_CASE("jobs in every state but the ended ones are unfinished") {
  JobCounts counts;
  std::uint64_t each = 1;
  for (std::size_t i = 0; i < job_state_count; ++i, each *= 10) {
    counts[static_cast<JobState>(i)] = each;
  }
  CHECK(counts.unfinished() == 11111);
  CHECK(JobCounts{}.unfinished() == 0);
}

TEST_CASE("job counts are added and subtracted state by state, and so are their bytes") {
  JobCounts counts;
  counts[JobState::queued] = 3;
  counts[JobState::failed] = 1;
  counts.bytes = 100;
  JobCounts more;
  more[JobState::queued] = 2;
  more[JobState::running] = 5;
  more.bytes = 70;
  counts += more;
  CHECK(counts.bytes == 170);
  CHECK(counts[JobState::queued] == 5);
  CHECK(counts[JobState::running] == 5);
  CHECK(counts[JobState::failed] == 1);
  counts -= more;
  CHECK(counts.bytes == 100);
  CHECK(counts[JobState::queued] == 3);
  CHECK(counts[JobState::running] == 0);
  CHECK(counts[JobState::failed] == 1);
}

TEST_CASE("jobs with equal members are equal, even with another copy of the spec") {
  const Job job = queued_job();
  Job same = job;
  same.spec = std::make_shared<const JobSpec>(*job.spec);
  CHECK(same == job);
  Job no_spec = job;
  no_spec.spec = nullptr;
  CHECK_FALSE(no_spec == job);
  CHECK_FALSE(job == no_spec);
  CHECK(no_spec == Job(no_spec));
}

TEST_CASE("jobs that differ in any member are not equal") {
  const Job job = queued_job();
  const auto differs = [&](auto change) {
    Job other = job;
    change(other);
    return !(other == job);
  };
  CHECK(differs([](Job& j) { j.id = 2; }));
  CHECK(differs([](Job& j) { j.spec = std::make_shared<const JobSpec>(); }));
  CHECK(differs([](Job& j) { j.cell = {"*", "*"}; }));
  CHECK(differs([](Job& j) { j.state = JobState::running; }));
  CHECK(differs([](Job& j) { j.place = 2; }));
  CHECK(differs([](Job& j) { j.step = 1; }));
  CHECK(differs([](Job& j) { j.steps[0].progress = 0.5; }));
  CHECK(differs([](Job& j) { j.steps[0].operation = "id"; }));
  CHECK(differs([](Job& j) { j.properties["a"] = "1"; }));
  CHECK(differs([](Job& j) { j.messages.push_back({}); }));
  CHECK(differs([](Job& j) { j.error.emplace(); }));
  CHECK(differs([](Job& j) { j.lease = {1, 1}; }));
  CHECK(differs([](Job& j) { j.interruptions = 1; }));
  CHECK(differs([](Job& j) { j.cancel_requested = true; }));
  CHECK(differs([](Job& j) { j.created_at += 1ms; }));
  CHECK(differs([](Job& j) { j.run_at += 1ms; }));
  CHECK(differs([](Job& j) { j.expires_at = noon; }));
  CHECK(differs([](Job& j) { j.started_at = noon; }));
  CHECK(differs([](Job& j) { j.finished_at = noon; }));
  CHECK(differs([](Job& j) { j.next_attempt_at = noon; }));
  CHECK(differs([](Job& j) { j.settle_until = noon; }));
}

TEST_CASE("the current attempt of a job is that of its current step, or of its last one") {
  Job job = queued_job();
  job.steps[0].attempts = 1;
  job.steps[1].attempts = 3;
  CHECK(current_attempt(job) == 1);
  job.step = job.steps.size();
  CHECK(current_attempt(job) == 3);
  CHECK(current_attempt(Job{}) == 0);
}

TEST_CASE("the size of a job includes that of its spec") {
  Job job = queued_job();
  const std::size_t with_spec = approximate_bytes(job);
  job.spec = nullptr;
  CHECK(with_spec >= approximate_bytes(job) + sizeof(JobSpec));
}

TEST_CASE("the size of a job grows with its parameters, operations, properties and messages") {
  Job job = queued_job();
  const std::size_t bare = approximate_bytes(job);
  job.properties["zone"] = std::string(1000, 'x');
  const std::size_t with_properties = approximate_bytes(job);
  CHECK(with_properties >= bare + 1004);
  job.messages.push_back({noon, Severity::info, "dns", std::string(500, 'x')});
  CHECK(approximate_bytes(job) >= with_properties + 500);
  Job begun = queued_job();
  begun.steps[0].operation = std::string(700, 'x');
  CHECK(approximate_bytes(begun) >= bare + 700);
  JobSpec spec = *job.spec;
  spec.parameters = std::string(10'000, 'x');
  CHECK(approximate_bytes(queued_job(spec)) >= bare + 9'000);
  JobSpec labelled = *job.spec;
  labelled.labels["ticket"] = std::string(250, 'x');
  CHECK(approximate_bytes(queued_job(labelled)) >= bare + 250);
  CHECK(approximate_bytes(Job{}) > 0);
}
