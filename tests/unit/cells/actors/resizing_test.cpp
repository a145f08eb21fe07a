// Pools that grow and shrink, and their workers.
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

TEST_CASE("a shrink never interrupts a running job, and starts none beyond the new size") {
  Fixture engine{3};
  const JobId a = engine.submit("a");
  const JobId b = engine.submit("b");
  const JobId c = engine.submit("c");
  const JobId d = engine.submit("d");
  engine.resize(1);
  CHECK(engine.calls->pending.size() == 3);
  CHECK(engine.cell().pool.busy == 1);
  CHECK(engine.cell().pool.retiring == 2);
  engine.succeed(a);
  engine.succeed(b);
  CHECK_FALSE(engine.call_of(d));  // One job still runs, and the target is one.
  engine.succeed(c);
  REQUIRE(engine.call_of(d));
  CHECK(engine.cell().pool.target == 1);
  CHECK(engine.cell().pool.busy == 1);
  CHECK(count_alive(engine.recorder->workers) == 1);
  for (const JobId job : {a, b, c}) {
    CHECK(engine.state(job) == JobState::succeeded);
    CHECK(engine.stored(job)->steps[0].attempts == 1);
  }
}

TEST_CASE("a shrink retires idle workers first") {
  Fixture engine{4};
  const JobId job = engine.submit("a");
  engine.resize(1);
  CHECK(engine.cell().pool.busy == 1);
  CHECK(engine.cell().pool.retiring == 0);
  CHECK(count_alive(engine.recorder->workers) == 1);
  engine.succeed(job);
  CHECK(engine.recorder->workers.size() == 4);  // The pool kept the busy worker.
}

TEST_CASE("a growth takes effect at once") {
  Fixture engine{1};
  engine.submit("a");
  const JobId second = engine.submit("b");
  CHECK_FALSE(engine.call_of(second));
  engine.resize(2);
  CHECK(engine.call_of(second));
}

TEST_CASE("a resize survives a crash, and is undone on request") {
  Fixture engine{2};
  engine.resize(5);
  engine.crash_and_restart();
  CHECK(engine.cell().pool.target == 5);
  CHECK(engine.cell().changed.pool_size == 5U);
  engine.resize(std::nullopt);
  CHECK(engine.cell().pool.target == 2);
  engine.crash_and_restart();
  CHECK(engine.cell().pool.target == 2);
}

TEST_CASE("an idle worker that was retired gets no job") {
  Fixture engine{2};
  engine.resize(1);
  REQUIRE(count_alive(engine.recorder->workers) == 1);
  const JobId first = engine.submit("a");
  const JobId second = engine.submit("b");
  REQUIRE(engine.call_of(first));
  engine.succeed(first);
  engine.succeed(second);
  CHECK(engine.state(first) == JobState::succeeded);
  CHECK(engine.state(second) == JobState::succeeded);
  CHECK(engine.recorder->hand_outs.size() == 2);  // Neither job had to be handed out again.
}

TEST_CASE("a retiring worker runs the job that was already on its way to it") {
  Fixture engine{1};
  // GracefulStop and the job cross: the only worker of the pool, workers.at(0), finds both in its
  // mailbox, GracefulStop first.
  auto worker = caf::actor_cast<JobWorker>(
      caf::actor_cast<caf::strong_actor_ptr>(engine.recorder->workers.at(0)));
  caf::anon_send(worker, GracefulStop{});
  caf::anon_send(engine.engine(), SubmitJob{engine.request("a")});
  // Let every actor but this worker run.
  const auto* asleep = dynamic_cast<caf::resumable*>(caf::actor_cast<caf::abstract_actor*>(worker));
  engine.scheduler().run_jobs_filtered([&](const caf::resumable* next) { return next != asleep; });
  worker = nullptr;
  REQUIRE(engine.recorder->hand_outs.size() == 1);
  REQUIRE(engine.calls->pending.empty());
  engine.run_all();
  REQUIRE(engine.recorder->hand_outs.size() == 1);
  const JobId job = engine.recorder->hand_outs[0].first;
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
  CHECK(engine.recorder->hand_outs.size() == 1);
  CHECK_FALSE(is_alive(engine.recorder->workers.at(0)));
  CHECK(count_alive(engine.recorder->workers) == 1);  // The pool has replaced the worker.
}

TEST_CASE("workers are distinguished by identity while some leave and others join") {
  Fixture engine{3};
  std::vector<JobId> jobs;
  for (const char* entity : {"a", "b", "c"}) jobs.push_back(engine.submit(entity));
  engine.resize(1);  // Two busy workers are to leave.
  engine.resize(3);  // They have not left, so no worker is spawned yet.
  CHECK(engine.recorder->workers.size() == 3);
  const auto lost = engine.recorder->workers.at(0);  // Any of them: all have a job.
  caf::anon_send_exit(lost, caf::exit_reason::unhandled_exception);
  engine.run_all();
  CHECK(count_alive(engine.recorder->workers) == 3);
  // Only the job of the dead worker was handed out again.
  std::vector<JobId> handed;
  for (const auto& [job, lease] : engine.recorder->hand_outs) handed.push_back(job);
  CHECK(handed.size() == 4);
  for (const JobId job : jobs) engine.succeed(job);
  for (const JobId job : jobs) CHECK(engine.state(job) == JobState::succeeded);
  engine.run_all();
  CHECK(count_alive(engine.recorder->workers) == 3);
  CHECK(engine.cell().pool.ready == 3);
}
