// How jobs reach free workers.
#include <string>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

TEST_CASE("a job that arrives while there is no worker is kept for the first one") {
  Fixture engine{1};
  // The only worker leaves before the job arrives.
  const auto pool = engine.recorder->pools.at(0);
  caf::anon_send(caf::actor_cast<JobWorkerPool>(caf::actor_cast<caf::strong_actor_ptr>(pool)),
                 Resize{0});
  engine.run_all();
  REQUIRE(count_alive(engine.recorder->workers) == 0);
  const JobId job = engine.submit("a");
  CHECK(engine.recorder->hand_outs.empty());
  CHECK(engine.state(job) == JobState::queued);
  engine.resize(1);
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("no job waits behind another while a worker is free") {
  Fixture engine{2};
  const JobId slow = engine.submit("a");
  const JobId quick = engine.submit("b");
  const JobId third = engine.submit("c");
  const JobId fourth = engine.submit("d");
  REQUIRE(engine.call_of(slow));
  REQUIRE(engine.call_of(quick));
  CHECK_FALSE(engine.call_of(third));
  engine.succeed(quick);
  REQUIRE(engine.call_of(third));
  engine.succeed(third);
  REQUIRE(engine.call_of(fourth));  // The slow job occupies only its own worker.
  engine.succeed(fourth);
  engine.succeed(slow);
  CHECK(engine.state(slow) == JobState::succeeded);
}

TEST_CASE("a dispatcher arms one timer, however many jobs run") {
  constexpr std::uint32_t jobs = 200;
  Fixture engine{jobs};
  engine.pass(milliseconds{6000});
  engine.scheduler().clock().cancel_all();  // Timers from the start.
  for (std::uint32_t i = 0; i < jobs; ++i) engine.submit("entity-" + std::to_string(i));
  REQUIRE(engine.calls->pending.size() == jobs);
  CHECK(engine.scheduler().trigger_timeouts() <= 2);
}

TEST_CASE("a job in doubt after a store failure is not handed out") {
  Fixture engine{1};
  engine.set_state(CellState::paused);
  const JobId job = engine.submit("a");
  engine.store_fails = true;
  caf::anon_send(engine.engine(), CancelJob{engine.stored(job)});
  engine.run_all();
  const auto dispatcher = caf::actor_cast<JobDispatcher>(engine.recorder->dispatchers.back());
  caf::anon_send(dispatcher, SetCellState{CellState::active});
  engine.run_all();
  CHECK_FALSE(engine.call_of(job));
}

TEST_CASE("each step is checkpointed before the next begins, and a restart resumes there") {
  Fixture engine{1};
  const JobId job = engine.submit(engine.request("a", {"dns", "billing"}));
  auto first = outcome(CallOutcome::Kind::succeeded);
  first.properties["serial"] = "7";
  engine.end_call(job, std::move(first));
  REQUIRE(engine.call_of(job));
  CHECK(engine.call_of(job)->call.job->step == 1);
  CHECK(engine.call_of(job)->call.job->properties.at("serial") == "7");
  engine.crash_and_restart();
  REQUIRE(engine.call_of(job));
  CHECK(engine.call_of(job)->call.job->step == 1);
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("each change of a job is reported, beginning with its submission") {
  Fixture engine;
  const JobId first = engine.submit("a");
  const JobId behind = engine.submit("a");
  engine.succeed(first);
  using Changes = std::vector<std::pair<JobId, JobState>>;
  CHECK(engine.reported == Changes{{first, JobState::queued},
                                   {first, JobState::running},
                                   {behind, JobState::queued},
                                   {first, JobState::succeeded},
                                   {behind, JobState::running}});
}
