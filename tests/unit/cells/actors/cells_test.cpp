// Cells as a whole: instances of templates, and the states that an administrator sets.
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

TEST_CASE("an instance of a template closes when it is idle, and opens again") {
  Fixture engine{1, true};
  const JobId first = engine.submit("a");
  CHECK(engine.stored(first)->cell == CellKey{"acme", "*"});
  engine.succeed(first);
  for (int i = 0; i < 40; ++i) engine.pass(milliseconds{5000});
  CHECK(count_alive(engine.recorder->dispatchers) == 0);
  const JobId second = engine.submit("a");
  engine.succeed(second);
  CHECK(engine.state(second) == JobState::succeeded);
}

TEST_CASE("an instance closes only after it has been idle without a break") {
  const CellKey acme{"acme", "*"};
  Fixture engine{1, true};  // It closes two seconds after its last job.
  engine.succeed(engine.submit("a"));
  engine.pass(milliseconds{1000});
  auto request = engine.request("b");
  request.spec.timeout = milliseconds{10'000};
  const JobId job = engine.submit(std::move(request));
  for (int second = 0; second < 2; ++second) engine.pass(milliseconds{1000});
  engine.succeed(job);
  engine.pass(milliseconds{1000});
  CHECK(engine.has_cell(acme));
  engine.pass(milliseconds{1000});
  CHECK_FALSE(engine.has_cell(acme));
}

TEST_CASE("an instance closes although its last job, now ended, had a later due time") {
  Fixture engine{1, true};
  auto request = engine.request("a");
  SECTION("to expire") {
    request.expires_at = engine.wall + std::chrono::hours{1};
    engine.succeed(engine.submit(std::move(request)));
  }
  SECTION("to begin") {
    request.delay = std::chrono::hours{1};
    engine.cancel(engine.submit(std::move(request)));
  }
  for (int i = 0; i < 40; ++i) engine.pass(milliseconds{5000});
  CHECK_FALSE(engine.has_cell({"acme", "*"}));
}

TEST_CASE("an instance that gets no job while it is closing does close") {
  constexpr milliseconds tick{5000};
  int ticks = 0;
  {
    Fixture engine{1, true};
    engine.succeed(engine.submit("a"));
    for (; count_alive(engine.recorder->dispatchers) == 1; ++ticks) engine.pass(tick);
  }
  for (unsigned seed = 0; seed < 100; ++seed) {
    Fixture engine{1, true};
    engine.succeed(engine.submit("a"));
    for (int i = 1; i < ticks; ++i) engine.pass(tick);
    engine.wall += tick;
    engine.scheduler().advance_time(tick);
    caf::anon_send(engine.engine(), JobsLeft{"acme", "dns"});
    engine.run_all_in_any_order(seed);
    for (int i = 0; i < 10; ++i) engine.pass(tick);
    CHECK(count_alive(engine.recorder->dispatchers) == 0);
  }
}

TEST_CASE("an instance that is being described when it is to close closes later") {
  constexpr milliseconds tick{5000};
  int ticks = 0;
  {
    Fixture engine{1, true};
    engine.succeed(engine.submit("a"));
    for (; count_alive(engine.recorder->dispatchers) == 1; ++ticks) engine.pass(tick);
  }
  for (int steps = 0; steps < 8; ++steps) {
    INFO(steps << " steps");
    Fixture engine{1, true};
    engine.succeed(engine.submit("a"));
    for (int i = 1; i < ticks; ++i) engine.pass(tick);
    engine.wall += tick;
    engine.scheduler().advance_time(tick);
    for (int i = 0; i < steps; ++i) engine.scheduler().try_run_once();
    caf::anon_send(engine.engine(), DescribeCell{{"acme", "*"}});
    for (int i = 0; i < 10; ++i) engine.pass(tick);
    CHECK(count_alive(engine.recorder->dispatchers) == 0);
  }
}

TEST_CASE("an instance that an override keeps open closes once the override is removed") {
  const CellKey acme{"acme", "*"};
  Fixture engine{1, true};
  engine.succeed(engine.submit("a"));
  engine.change_pool({acme, 3U});
  for (int second = 0; second < 10; ++second) engine.pass(milliseconds{1000});
  REQUIRE(engine.has_cell(acme));
  engine.change_pool({acme, {}});
  for (int second = 0; second < 10; ++second) engine.pass(milliseconds{1000});
  CHECK_FALSE(engine.has_cell(acme));
}

TEST_CASE("a page of cells leads to the next one, even if its cell closes meanwhile") {
  constexpr milliseconds tick{5000};
  const CellKey bolt{"bolt", "*"};
  // Two cells, the first of which has just become idle.
  const auto begin = [](Fixture& engine) {
    engine.succeed(engine.submit("a"));
    auto waiting = engine.request("b");
    waiting.spec.customer = "bolt";
    waiting.delay = std::chrono::hours{1};
    engine.submit(std::move(waiting));
  };
  int ticks = 0;
  {
    Fixture engine{1, true};
    begin(engine);
    for (; count_alive(engine.recorder->dispatchers) == 2; ++ticks) engine.pass(tick);
  }
  bool met = false;
  for (int steps = 0; steps < 50; ++steps) {
    Fixture engine{1, true};
    begin(engine);
    for (int i = 1; i < ticks; ++i) engine.pass(tick);
    engine.wall += tick;
    engine.scheduler().advance_time(tick);
    for (int i = 0; i < steps; ++i) engine.scheduler().try_run_once();
    auto pending =
        engine.self()->request(engine.engine(), caf::infinite, ListCells{CellKey{"*", "*"}, 1});
    engine.run_all();
    pending.receive(
        [&](const CellsListed& page) {
          const bool shows_bolt = page.cells.size() == 1 && page.cells[0].key == bolt;
          CHECK((shows_bolt || page.more_after == CellKey{"acme", "*"}));
          met = met || page.cells.empty();
        },
        [](const caf::error&) { FAIL("no answer"); });
  }
  CHECK(met);
}

TEST_CASE("a change to an instance that closes meanwhile does not apply to the next one") {
  Fixture engine{1, true};
  const CellKey acme{"acme", "*"};
  engine.succeed(engine.submit("a"));
  caf::anon_send(engine.engine(), CellIdle{acme});
  auto paused = engine.self()->request(engine.engine(), caf::infinite,
                                       ChangeCellState{acme, CellState::paused});
  auto resized =
      engine.self()->request(engine.engine(), caf::infinite, ResizePool{acme, std::uint32_t{7}});
  auto limited = engine.self()->request(engine.engine(), caf::infinite,
                                        ChangeQuota{acme, {{QuotaLimit::queue_jobs, 1}}});
  engine.run_all();
  const auto is_none = [](const CellDescribed& answer) { CHECK_FALSE(answer.status); };
  const auto failed = [](const caf::error&) { FAIL("the change failed"); };
  paused.receive(is_none, failed);
  resized.receive(is_none, failed);
  limited.receive(is_none, failed);
  CHECK(engine.call_of(engine.submit("b")));
  engine.submit("c");
  CHECK(engine.cell(acme).pool.target == 1);
}

TEST_CASE("describing an instance while it closes is never an error") {
  for (int steps = 0; steps < 12; ++steps) {
    Fixture engine{1, true};
    const CellKey acme{"acme", "*"};
    engine.succeed(engine.submit("a"));
    caf::anon_send(engine.engine(), CellIdle{acme});
    for (int i = 0; i < steps; ++i) engine.scheduler().try_run_once();
    auto described = engine.self()->request(engine.engine(), caf::infinite, DescribeCell{acme});
    engine.run_all();
    described.receive([](const CellDescribed&) {},
                      [&](const caf::error&) { FAIL("failed after " << steps << " steps"); });
    CHECK_FALSE(engine.has_cell(acme));
  }
}

TEST_CASE("a paused cell accepts jobs, and starts none until it is active again") {
  Fixture engine{2};
  const JobId running = engine.submit(engine.request("a", {"dns", "billing"}));
  engine.set_state(CellState::paused);
  const JobId waiting = engine.submit("b");
  CHECK_FALSE(engine.call_of(waiting));
  engine.succeed(running);  // The attempt is not interrupted, but the next step waits.
  CHECK_FALSE(engine.call_of(running));
  CHECK(engine.cell().changed.state == CellState::paused);
  engine.crash_and_restart();
  CHECK(engine.calls->pending.empty());
  engine.set_state(CellState::active);
  CHECK(engine.call_of(running));
  CHECK(engine.call_of(waiting));
}

TEST_CASE("a draining cell finishes its jobs and accepts no new ones") {
  Fixture engine{1};
  const JobId first = engine.submit("a");
  const JobId second = engine.submit("b");
  engine.set_state(CellState::draining);
  const auto refused = engine.try_to_submit(engine.request("c"));
  REQUIRE(refused.refusal);
  CHECK(refused.refusal->kind == Refusal::Kind::draining);
  engine.end_call(first, outcome(CallOutcome::Kind::rejected));
  CHECK(engine.reopen(first).refusal->kind == Refusal::Kind::draining);
  engine.succeed(second);
  CHECK(engine.cell().queue.counts.unfinished() == 0);
  engine.set_state(CellState::active);
  CHECK(engine.reopen(first).accepted);
}

TEST_CASE("a change of a cell's state keeps its pool size, and the other way round") {
  Fixture engine{2};
  engine.resize(5);
  engine.set_state(CellState::paused);
  CHECK(engine.cell().pool.target == 5);
  engine.resize(std::nullopt);
  CHECK(engine.cell().changed.state == CellState::paused);
  CHECK(engine.cell().pool.target == 2);
}

TEST_CASE("an instance without jobs that was paused before a restart is still paused") {
  const CellKey acme{"acme", "*"};
  Fixture engine{1, true};
  engine.succeed(engine.submit("a"));
  engine.set_state(CellState::paused, acme);
  engine.crash_and_restart();
  REQUIRE(engine.has_cell(acme));
  CHECK(engine.cell(acme).changed.state == CellState::paused);
}

TEST_CASE("the successor of a paused dispatcher is paused") {
  Fixture engine{1};
  engine.set_state(CellState::paused);
  const JobId job = engine.submit("a");
  caf::anon_send_exit(engine.recorder->dispatchers.back(), caf::exit_reason::unhandled_exception);
  engine.run_all();
  CHECK(engine.recorder->dispatchers.size() == 2);
  CHECK_FALSE(engine.call_of(job));
  engine.set_state(CellState::active);
  CHECK(engine.call_of(job));
}
