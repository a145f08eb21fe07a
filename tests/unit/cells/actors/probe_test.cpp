// What the probe sees, for metrics and logs. The fixture's probe is one of a list.
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

namespace {

/// The job of a lease that a worker outside has ended, as the API finds it in the store for
/// requests about leases that the desk does not know.
JobPtr job_of_ended_lease(Fixture& engine) {
  engine.submit(engine.request("a", {"vm"}));
  const auto leases = engine.lease("host-1");
  REQUIRE(leases.size() == 1);
  REQUIRE(engine.end_lease(leases[0].job->lease, outcome(CallOutcome::Kind::succeeded)));
  return leases[0].job;
}

}  // namespace

TEST_CASE("the probe sees each job submitted, begun and ended once") {
  Fixture engine;
  const JobId first = engine.submit("a");
  const JobId second = engine.submit("b");
  engine.pass(milliseconds{300});
  engine.succeed(first);
  engine.end_call(second, outcome(CallOutcome::Kind::rejected, "no"));
  CHECK(engine.recorder->submissions == std::vector<JobId>{first, second});
  CHECK(engine.recorder->waits == std::vector<milliseconds>{milliseconds{0}, milliseconds{300}});
  CHECK(engine.recorder->ends == std::vector<std::pair<JobId, JobState>>{
                                     {first, JobState::succeeded}, {second, JobState::failed}});
  CHECK(engine.recorder->refusals.empty());
}

TEST_CASE("the wait of a job that the probe sees counts from when the job is due") {
  Fixture engine;
  auto later = engine.request("a");
  later.delay = milliseconds{500};
  engine.submit(std::move(later));
  engine.pass(milliseconds{500});
  CHECK(engine.recorder->waits == std::vector<milliseconds>{milliseconds{0}});
}

TEST_CASE("the wait of a job is never negative, even if the clock was set back meanwhile") {
  Fixture engine;
  const JobId first = engine.submit("a");
  engine.submit("b");
  engine.wall -= milliseconds{60'000};
  engine.succeed(first);
  CHECK(engine.recorder->waits == std::vector<milliseconds>(2, milliseconds{0}));
}

TEST_CASE("the probe sees a timeout, whichever clock notices it first") {
  Fixture engine;
  const JobId job = engine.submit("a");
  engine.end_call(job, outcome(CallOutcome::Kind::unknown, "timeout"));
  REQUIRE(engine.recorder->attempts.size() == 1);
  CHECK(engine.recorder->attempts[0].cause == AbortCause::timeout);
}

TEST_CASE("the probe sees how each attempt ended, and how long it ran") {
  Fixture engine;
  const JobId job = engine.submit("a");
  engine.pass(milliseconds{200});
  engine.end_call(job, outcome(CallOutcome::Kind::retryable, "provider_error"));
  REQUIRE(engine.recorder->attempts.size() == 1);
  CHECK(engine.recorder->attempts[0].kind == AttemptEnd::Kind::retryable);
  CHECK(engine.recorder->attempts[0].cause == AbortCause::none);
  CHECK(engine.recorder->attempts[0].ran == milliseconds{200});
  CHECK(engine.recorder->lease_ends ==
        std::vector<std::pair<JobState, JobState>>{{JobState::running, JobState::retrying}});
  engine.pass(milliseconds{60'000});  // The backoff.
  engine.pass(milliseconds{1000});    // The deadline of the second attempt.
  REQUIRE(engine.recorder->attempts.size() >= 2);
  CHECK(engine.recorder->attempts[1].kind == AttemptEnd::Kind::unknown);
  CHECK(engine.recorder->attempts[1].cause == AbortCause::timeout);
  CHECK(engine.recorder->waits.size() == 1);
}

TEST_CASE("the probe sees each refusal once, with and without an idempotency key") {
  Fixture engine;
  engine.limit_jobs(1);
  engine.crash_and_restart();
  const JobId job = engine.submit("a");
  CHECK(engine.try_to_submit(engine.request("b")).refusal);
  auto keyed = engine.request("b");
  keyed.idempotency = Idempotency{"key", "digest"};
  CHECK(engine.try_to_submit(keyed).refusal);
  CHECK(engine.recorder->refusals ==
        std::vector<Refusal::Kind>{Refusal::Kind::queue_full, Refusal::Kind::queue_full});
  engine.succeed(job);
  CHECK(engine.try_to_submit(keyed).job);
  CHECK(engine.try_to_submit(keyed).replayed);
  keyed.idempotency->digest = "other";
  CHECK(engine.try_to_submit(keyed).refusal);
  CHECK(engine.recorder->refused_customers == std::vector<std::string>(3, "acme"));
  CHECK(engine.recorder->refusals.back() == Refusal::Kind::key_reused);
  CHECK(engine.recorder->submissions.size() == 2);
}

TEST_CASE("the probe sees the refusal of a job that no cell takes") {
  Fixture engine;
  CellRule other;
  other.customer = "other";
  engine.reconfigure({other});
  CHECK(engine.try_to_submit(engine.request("a")).refusal);
  CHECK(engine.recorder->refusals == std::vector{Refusal::Kind::no_cell});
  CHECK(engine.recorder->refused_customers == std::vector<std::string>{"acme"});
}

TEST_CASE("the probe sees the refusal of a request to reopen a job") {
  Fixture engine;
  const JobId job = engine.submit("a");
  engine.end_call(job, outcome(CallOutcome::Kind::rejected, "no"));
  CellRule other;
  other.customer = "other";
  engine.reconfigure({other});
  const auto refusal = engine.reopen(job).refusal;
  REQUIRE(refusal);
  CHECK(refusal->kind == Refusal::Kind::no_cell);
  CHECK(engine.recorder->refusals == std::vector{Refusal::Kind::no_cell});
  CHECK(engine.recorder->refused_customers == std::vector<std::string>{"acme"});
}

TEST_CASE("the probe sees jobs that are cancelled while they wait") {
  Fixture engine;
  engine.submit("a");
  const JobId waiting = engine.submit("b");
  CHECK(engine.cancel(waiting).accepted);
  CHECK(engine.recorder->ends ==
        std::vector<std::pair<JobId, JobState>>{{waiting, JobState::cancelled}});
}

TEST_CASE("the probe sees heartbeats for leases that are over") {
  Fixture engine;
  const JobPtr job = job_of_ended_lease(engine);
  caf::anon_send(engine.engine(), ExtendLease{job->lease, job, {}, {}});
  engine.run_all();
  CHECK(engine.recorder->stale == std::vector<Lease>{job->lease});
}

TEST_CASE("the probe sees reports about leases that are over") {
  Fixture engine;
  const JobPtr job = job_of_ended_lease(engine);
  const auto success = outcome(CallOutcome::Kind::succeeded);
  caf::anon_send(engine.engine(), EndLease{job->lease, job, success});
  engine.run_all();
  CHECK(engine.recorder->stale == std::vector<Lease>{job->lease});
}
