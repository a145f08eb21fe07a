// The shutdown of the engine.
#include <map>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

TEST_CASE("attempts that run when the engine shuts down are finished or handed back") {
  Fixture engine{2};
  const JobId finishes = engine.submit("a");
  const JobId hangs = engine.submit("b");
  const JobId waits = engine.submit("c");
  auto stopped =
      engine.self()->request(engine.engine(), caf::infinite, ShutDown{milliseconds{500}});
  engine.run_all();
  engine.succeed(finishes);
  CHECK(engine.state(finishes) == JobState::succeeded);
  CHECK_FALSE(engine.call_of(waits));
  engine.pass(milliseconds{500});
  std::size_t handed_back = 0;
  stopped.receive([&](const ShutdownCompleted& answer) { handed_back = answer.handed_back; },
                  [](const caf::error&) { FAIL("the shutdown failed"); });
  CHECK(handed_back == 1);
  CHECK(engine.state(hangs) == JobState::queued);
  CHECK(engine.stored(hangs)->steps[0].attempts == 0);
  CHECK(engine.state(waits) == JobState::queued);
}

TEST_CASE("a shutdown gives up on a call that does not end, and leaves its job running") {
  Fixture engine{2};
  engine.calls->ignores_aborts = true;
  const JobId hangs = engine.submit("a");
  const JobId ends = engine.submit("b");
  auto stopped =
      engine.self()->request(engine.engine(), caf::infinite, ShutDown{milliseconds{500}});
  engine.pass(milliseconds{500});
  engine.end_call(ends, outcome(CallOutcome::Kind::aborted));
  engine.pass(hand_back_patience - milliseconds{1});
  CHECK_FALSE(engine.self()->has_next_message());
  engine.pass(milliseconds{1});
  std::map<CellKey, std::uint64_t> unconfirmed;
  stopped.receive([&](const ShutdownCompleted& answer) { unconfirmed = answer.unconfirmed; },
                  [](const caf::error&) { FAIL("the shutdown failed"); });
  CHECK(unconfirmed == std::map<CellKey, std::uint64_t>{{{"*", "*"}, 1}});
  CHECK(engine.state(hangs) == JobState::running);
  CHECK(engine.state(ends) == JobState::queued);
}

TEST_CASE("a shutdown waits for the attempts of a dispatcher that died meanwhile") {
  Fixture engine{1};
  engine.calls->ignores_aborts = true;
  const JobId job = engine.submit("a");
  auto stopped =
      engine.self()->request(engine.engine(), caf::infinite, ShutDown{milliseconds{500}});
  engine.pass(milliseconds{500});
  caf::anon_send_exit(engine.recorder->dispatchers.at(0), caf::exit_reason::unhandled_exception);
  engine.run_all();
  CHECK_FALSE(engine.self()->has_next_message());
  engine.end_call(job, outcome(CallOutcome::Kind::aborted));
  engine.run_all();
  ShutdownCompleted answer;
  stopped.receive([&](const ShutdownCompleted& completed) { answer = completed; },
                  [](const caf::error&) { FAIL("the shutdown failed"); });
  CHECK(answer.unconfirmed.empty());
  CHECK(engine.state(job) == JobState::queued);
}

TEST_CASE("an attempt that was being cancelled before the end of the grace is not handed back") {
  Fixture engine{1};
  engine.calls->ignores_aborts = true;
  const JobId job = engine.submit("a");
  REQUIRE(engine.cancel(job).accepted);
  auto stopped =
      engine.self()->request(engine.engine(), caf::infinite, ShutDown{milliseconds{500}});
  engine.pass(milliseconds{500});
  engine.end_call(job, outcome(CallOutcome::Kind::aborted));
  REQUIRE(engine.self()->has_next_message());
  stopped.receive([](const ShutdownCompleted& answer) { CHECK(answer.handed_back == 0); },
                  [](const caf::error&) { FAIL("the shutdown failed"); });
  CHECK(engine.state(job) == JobState::cancelled);
}

TEST_CASE("a shutdown is answered at once if the store fails to record a job that is handed back") {
  Fixture engine{1};
  engine.submit("a");
  auto stopped =
      engine.self()->request(engine.engine(), caf::infinite, ShutDown{milliseconds{500}});
  engine.run_all();
  engine.store_fails = true;
  engine.pass(milliseconds{500});
  REQUIRE(engine.self()->has_next_message());
  stopped.receive([](const ShutdownCompleted&) { FAIL("the shutdown succeeded"); },
                  [](const caf::error&) {});
}
