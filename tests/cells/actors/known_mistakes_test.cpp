// What well-known designs of this pattern got wrong. Each test was seen to fail with the mistake in
// the engine.
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/cells/actors/fixture.hpp"

using namespace cells_test;

TEST_CASE("who asks a cell dispatcher that dies meanwhile is told so") {
  const auto is_answered = [](int steps, auto question, const auto& answer) {
    Fixture engine;
    auto asked = engine.self()->request(engine.engine(), caf::infinite, std::move(question));
    for (int i = 0; i < steps; ++i) engine.scheduler().try_run_once();
    caf::anon_send_exit(engine.engine(), caf::exit_reason::kill);
    engine.settle();
    if (!engine.self()->has_next_message()) return false;
    asked.receive([](const decltype(answer)&) {}, [](const caf::error&) {});
    return true;
  };
  for (int steps = 0; steps < 8; ++steps) {
    INFO(steps << " steps");
    CHECK(is_answered(steps, ListCells{std::nullopt, 1}, CellsListed{}));
    CHECK(is_answered(steps, ListServices{}, ServicesListed{}));
    SubmitJob with_key{Fixture{}.request("a")};
    with_key.request.idempotency.emplace();
    CHECK(is_answered(steps, with_key, JobSubmitted{}));
  }
}

TEST_CASE("an idle worker that was told to stop is sent no job") {
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
  CHECK(engine.recorder->hand_outs.size() == 2);  // Neither had to be handed out again.
}

TEST_CASE("a worker told to stop runs the job that was already on its way") {
  Fixture engine{1};
  // The stop and the job cross: the worker finds both in its mailbox, the stop first.
  auto worker = caf::actor_cast<JobWorker>(
      caf::actor_cast<caf::strong_actor_ptr>(engine.recorder->workers.at(0)));
  caf::anon_send(worker, GracefulStop{});
  caf::anon_send(engine.engine(), SubmitJob{engine.request("a")});
  const auto* asleep = dynamic_cast<caf::resumable*>(caf::actor_cast<caf::abstract_actor*>(worker));
  engine.scheduler().run_jobs_filtered([&](const caf::resumable* next) { return next != asleep; });
  worker = nullptr;
  REQUIRE(engine.recorder->hand_outs.size() == 1);
  REQUIRE(engine.calls->pending.empty());
  engine.settle();
  REQUIRE(engine.recorder->hand_outs.size() == 1);
  const JobId job = engine.recorder->hand_outs[0].first;
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
  CHECK(engine.recorder->hand_outs.size() == 1);
  CHECK_FALSE(is_alive(engine.recorder->workers.at(0)));
  CHECK(count_alive(engine.recorder->workers) == 1);  // The pool has replaced it.
}

TEST_CASE("workers are told apart by identity while some leave and others come") {
  Fixture engine{3};
  std::vector<JobId> jobs;
  for (const char* entity : {"a", "b", "c"}) jobs.push_back(engine.submit(entity));
  engine.resize(1);  // Two busy ones are to leave.
  engine.resize(3);  // They are still there, so nobody is spawned yet.
  CHECK(engine.recorder->workers.size() == 3);
  const auto lost = engine.recorder->workers.at(0);
  caf::anon_send_exit(lost, caf::exit_reason::unhandled_exception);
  engine.settle();
  CHECK(count_alive(engine.recorder->workers) == 3);
  // Exactly the job of the worker that died was taken up again.
  std::vector<JobId> handed;
  for (const auto& [job, lease] : engine.recorder->hand_outs) handed.push_back(job);
  CHECK(handed.size() == 4);
  for (const JobId job : jobs) engine.succeed(job);
  for (const JobId job : jobs) CHECK(engine.state(job) == JobState::succeeded);
  engine.settle();
  CHECK(count_alive(engine.recorder->workers) == 3);
  CHECK(engine.cell().pool.ready == 3);
}

TEST_CASE("work that arrives while no worker is there is kept for the first that comes") {
  Fixture engine{1};
  // The only worker is gone before the job comes, and its successor has not announced itself.
  const auto pool = engine.recorder->pools.at(0);
  caf::anon_send(caf::actor_cast<JobWorkerPool>(caf::actor_cast<caf::strong_actor_ptr>(pool)),
                 Resize{0});
  engine.settle();
  REQUIRE(count_alive(engine.recorder->workers) == 0);
  const JobId job = engine.submit("a");
  CHECK(engine.recorder->hand_outs.empty());
  CHECK(engine.state(job) == JobState::queued);
  engine.resize(1);
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("work in hand when the engine stops is finished or handed back") {
  Fixture engine{2};
  const JobId finishes = engine.submit("a");
  const JobId hangs = engine.submit("b");
  const JobId waits = engine.submit("c");
  auto drained = engine.self()->request(engine.engine(), caf::infinite, Drain{milliseconds{500}});
  engine.settle();
  engine.succeed(finishes);
  CHECK(engine.state(finishes) == JobState::succeeded);
  CHECK_FALSE(engine.call_of(waits));
  engine.pass(milliseconds{500});
  std::size_t handed_back = 0;
  drained.receive([&](const Drained& answer) { handed_back = answer.handed_back; },
                  [](const caf::error&) { FAIL("the drain failed"); });
  CHECK(handed_back == 1);
  CHECK(engine.state(hangs) == JobState::queued);
  CHECK(engine.stored(hangs)->steps[0].attempts == 0);
  CHECK(engine.state(waits) == JobState::queued);
}

TEST_CASE(
    "a stop does not wait for ever for a call that does not end, and leaves its job running") {
  Fixture engine{2};
  engine.calls->deaf = true;
  const JobId hangs = engine.submit("a");
  const JobId ends = engine.submit("b");
  auto drained = engine.self()->request(engine.engine(), caf::infinite, Drain{milliseconds{500}});
  engine.pass(milliseconds{500});
  engine.end_call(ends, outcome(CallOutcome::Kind::aborted));
  engine.pass(hand_back_patience - milliseconds{1});
  CHECK_FALSE(engine.self()->has_next_message());
  engine.pass(milliseconds{1});
  std::map<CellKey, std::uint64_t> unconfirmed;
  drained.receive([&](const Drained& answer) { unconfirmed = answer.unconfirmed; },
                  [](const caf::error&) { FAIL("the drain failed"); });
  CHECK(unconfirmed == std::map<CellKey, std::uint64_t>{{{"*", "*"}, 1}});
  CHECK(engine.state(hangs) == JobState::running);
  CHECK(engine.state(ends) == JobState::queued);
}

TEST_CASE("a stop waits for what ran in a cell whose dispatcher died meanwhile") {
  Fixture engine{1};
  engine.calls->deaf = true;
  const JobId job = engine.submit("a");
  auto drained = engine.self()->request(engine.engine(), caf::infinite, Drain{milliseconds{500}});
  engine.pass(milliseconds{500});
  caf::anon_send_exit(engine.recorder->dispatchers.at(0), caf::exit_reason::unhandled_exception);
  engine.settle();
  CHECK_FALSE(engine.self()->has_next_message());
  engine.end_call(job, outcome(CallOutcome::Kind::aborted));
  engine.settle();
  Drained answer;
  drained.receive([&](const Drained& told) { answer = told; },
                  [](const caf::error&) { FAIL("the drain failed"); });
  CHECK(answer.unconfirmed.empty());
  CHECK(engine.state(job) == JobState::queued);
}

TEST_CASE("a dispatcher arms one timer, however many jobs run") {
  constexpr std::uint32_t jobs = 200;
  Fixture engine{jobs};
  engine.pass(milliseconds{6000});
  engine.scheduler().clock().cancel_all();  // Timers of the start.
  for (std::uint32_t i = 0; i < jobs; ++i) engine.submit("entity-" + std::to_string(i));
  REQUIRE(engine.calls->pending.size() == jobs);
  CHECK(engine.scheduler().trigger_timeouts() <= 2);
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
  engine.settle();
  CHECK(engine.state(job) == JobState::running);
  CHECK(engine.recorder->stale == std::vector<Lease>{first});
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
  REQUIRE(engine.call_of(fourth));  // The slow one holds its own worker and nobody else.
  engine.succeed(fourth);
  engine.succeed(slow);
  CHECK(engine.state(slow) == JobState::succeeded);
}
