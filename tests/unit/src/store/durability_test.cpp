// What survives a restart: every field of a job, and every answered write.
#include "tests/unit/src/store/contract.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store::test;

namespace {

/// A job with a value in every field, and characters that need escapes.
JobPtr full_job(JobId id) {
  const std::string odd = "quote \" backslash \\ newline \n bell \a umlaut \xC3\xBC";
  const auto sketched = sketch_job({.id = id, .entity = odd, .services = {"dns", "billing"}});
  JobSpec spec = *sketched->spec;
  spec.action = odd;
  spec.entity.subtype = odd;
  spec.parameters = "{ \"a\" : [1.50, 12345678901234567890123, \"}\"] }";
  spec.labels = {{odd, odd}, {"empty", ""}};
  spec.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  spec.priority = 9;
  spec.timeout = milliseconds{3'600'000};
  spec.max_attempts = 4'000'000'000;
  Job job = *sketched;
  job.spec = std::make_shared<const JobSpec>(spec);
  job.state = JobState::running;
  job.step = 1;
  job.steps[0] = {StepState::succeeded, 3, at_ms(1), at_ms(2), 1.0 / 3};
  job.steps[1] = {StepState::running, 1, at_ms(3), {}, {}};
  job.steps[1].operation = odd;
  job.properties = {{odd, "[1.50, {\"b\" : \"]},\\\"\"}]"}, {"n", "1e400"}, {"s", "\"\\u00e9\""}};
  job.messages = {{at_ms(4), Severity::error, "dns", odd}, {at_ms(5), Severity::info, "", ""}};
  job.error = JobError{"timeout", odd, "dns"};
  job.lease = {7, 1'000'000'007};
  job.interruptions = 2;
  job.cancel_requested = true;
  job.created_at = at_ms(-5);
  job.run_at = at_ms(1'700'000'000'000);
  job.expires_at = at_ms(9'000'000'000'000);
  job.started_at = at_ms(0);
  job.finished_at = at_ms(6);
  return std::make_shared<const Job>(std::move(job));
}

}  // namespace

TEST_CASE("every field of a job survives a restart byte for byte") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    const auto sketched = sketch_job({.id = 1, .entity = full_job(1)->spec->entity.id});
    const auto job = full_job(1);
    const auto fresh = changed(sketched, [&](Job& next) {
      next.spec = job->spec;
      next.steps.resize(2);
      next.created_at = job->created_at;
    });
    client.ask(InsertJob{fresh});
    CHECK(*client.ask(FindJob{1}).job == *fresh);
    REQUIRE(client.ask(RecordJob{{}, job}).applied);
    CHECK(*client.ask(FindJob{1}).job == *job);
    under_test.reopen();
    CHECK(*client.ask(FindJob{1}).job == *job);
    const auto waiting = changed(job, [](Job& next) {
      next.state = JobState::retrying;
      next.next_attempt_at = at_ms(77);
      next.error.reset();
      next.properties.clear();
    });
    REQUIRE(client.ask(RecordJob{job->lease, waiting}).applied);
    under_test.reopen();
    CHECK(*client.ask(FindJob{1}).job == *waiting);
    const auto over = settling(waiting, at_ms(88));
    REQUIRE(client.ask(RecordJob{job->lease, over}).applied);
    under_test.reopen();
    CHECK(*client.ask(FindJob{1}).job == *over);
    CHECK(client.ask(LoadCell{acme_cell}).next_due == at_ms(88));
  });
}

TEST_CASE("answered writes survive a kill") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    for (JobId id = 1; id <= 20; ++id) {
      client.ask(InsertJob{sketch_job({.id = id, .entity = std::to_string(id)})});
      if (id % 5 == 0) under_test.reopen();
    }
    CHECK(runnable_ids(client).size() == 20);
  });
}

TEST_CASE("claims reach the disk without any further request") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    client.tell(ClaimJob{running(job, {1, 1})});
    // Each read is a round trip; the claim's own commit takes milliseconds.
    JobState seen = JobState::queued;
    for (int reads = 0; reads < 100'000 && seen != JobState::running; ++reads) {
      seen = client.ask(FindJob{1}).job->state;
    }
    CHECK(seen == JobState::running);
  });
}
