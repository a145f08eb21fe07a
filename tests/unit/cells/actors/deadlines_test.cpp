// Attempts that pass their deadline, and jobs that expire.
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

TEST_CASE("an attempt that passes its deadline keeps its worker until the abort is confirmed") {
  Fixture engine{1};
  const JobId job = engine.submit("a");
  const JobId next = engine.submit("b");
  engine.pass(milliseconds{999});
  CHECK(engine.call_of(job));
  engine.pass(milliseconds{1});
  CHECK_FALSE(engine.call_of(job));
  CHECK(engine.state(job) == JobState::retrying);
  REQUIRE(engine.stored(job)->messages.size() == 1);
  CHECK(engine.stored(job)->messages[0].text == "the attempt had not ended after 1000 ms");
  CHECK(engine.call_of(next));
}

TEST_CASE("a timeout counts from the worker's start, however late its report arrives") {
  Fixture engine{1};
  caf::anon_send(engine.engine(), SubmitJob{engine.request("a")});
  auto dispatcher = caf::actor_cast<caf::strong_actor_ptr>(engine.recorder->dispatchers.back());
  const auto* busy =
      dynamic_cast<caf::resumable*>(caf::actor_cast<caf::abstract_actor*>(dispatcher));
  engine.scheduler().run_jobs_filtered([&](const caf::resumable* next) {
    return next != busy || engine.recorder->hand_outs.empty();
  });
  dispatcher = nullptr;
  REQUIRE(engine.recorder->hand_outs.size() == 1);
  const JobId job = engine.recorder->hand_outs[0].first;
  REQUIRE(engine.call_of(job));
  engine.scheduler().advance_time(milliseconds{400});
  engine.pass(milliseconds{599});
  CHECK(engine.call_of(job));
  engine.pass(milliseconds{1});
  CHECK_FALSE(engine.call_of(job));
}

TEST_CASE("a late report of a timed-out attempt does not end the next one") {
  Fixture engine{2};
  const JobId job = engine.submit("a");
  const Lease first = engine.call_of(job)->call.lease;
  engine.pass(milliseconds{1001});
  REQUIRE(engine.state(job) == JobState::retrying);
  engine.pass(milliseconds{1000});
  REQUIRE(engine.call_of(job));
  const Lease second = engine.call_of(job)->call.lease;
  REQUIRE(second > first);
  const auto dispatcher = caf::actor_cast<JobDispatcher>(
      caf::actor_cast<caf::strong_actor_ptr>(engine.recorder->dispatchers.at(0)));
  caf::anon_send(dispatcher, JobWorkCompleted{first, outcome(CallOutcome::Kind::succeeded)});
  engine.run_all();
  CHECK(engine.state(job) == JobState::running);
  CHECK(engine.recorder->stale == std::vector<Lease>{first});
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("a jump of the wall clock neither fires nor loses a timeout") {
  Fixture engine{1};
  const JobId job = engine.submit("a");
  engine.wall += std::chrono::hours{48};
  engine.pass(milliseconds{500});
  CHECK(engine.call_of(job));
  engine.wall -= std::chrono::hours{96};
  engine.pass(milliseconds{499});
  CHECK(engine.call_of(job));
  engine.pass(milliseconds{1});
  CHECK_FALSE(engine.call_of(job));
}

TEST_CASE("a job that had expired before its submission never runs") {
  Fixture engine{1};
  auto request = engine.request("a");
  request.expires_at = engine.wall - milliseconds{1};
  const JobId job = engine.submit(std::move(request));
  engine.pass(milliseconds{1000});
  CHECK(engine.recorder->hand_outs.empty());
  CHECK(engine.state(job) == JobState::failed);
  CHECK(engine.stored(job)->error->code == "expired");
  CHECK(engine.cell().queue.counts.unfinished() == 0);
}

TEST_CASE("a job that expires while it runs says so") {
  Fixture engine{1};
  auto request = engine.request("a");
  request.expires_at = engine.wall + milliseconds{500};
  const JobId job = engine.submit(std::move(request));
  REQUIRE(engine.call_of(job));
  engine.pass(milliseconds{600});
  REQUIRE(engine.state(job) == JobState::failed);
  CHECK(engine.stored(job)->error->code == "expired");
  CHECK(engine.stored(job)->error->message == "the job expired before it ended");
}
