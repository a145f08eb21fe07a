// Ended jobs are removed on time, in small steps.
#include "cells/actors/retention.hpp"

#include <algorithm>
#include <string>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells;  // NOLINT: tests of the engine.
using namespace cells_test;

namespace {

/// A retention actor on the store of a fixture; ends before the fixture.
struct Keeping {
  Keeping(Fixture& fixture, milliseconds keep, std::size_t step_jobs = 32,
          microseconds step_time_max = milliseconds{2})
      : retention(
            spawn_retention(fixture.system(), {fixture.store(), [&fixture] { return fixture.wall; },
                                               keep, step_jobs, step_time_max})) {}
  ~Keeping() { caf::anon_send_exit(retention, caf::exit_reason::kill); }
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;

  Retention retention;
};

JobId submit_and_end(Fixture& fixture, const std::string& entity) {
  const auto id = fixture.submit(entity);
  fixture.succeed(id);
  return id;
}

}  // namespace

TEST_CASE("an ended job is kept for its time, and at most a tenth longer") {
  Fixture fixture{2};
  const Keeping keeping{fixture, milliseconds{10'000}};
  const auto open = fixture.submit("open");
  fixture.pass(milliseconds{5000});
  const auto id = submit_and_end(fixture, "ended");
  fixture.pass(milliseconds{9999});
  CHECK(fixture.disk->jobs().contains(id));
  fixture.pass(milliseconds{1001});
  CHECK_FALSE(fixture.disk->jobs().contains(id));
  fixture.pass(milliseconds{100'000});
  CHECK(fixture.disk->jobs().contains(open));
}

TEST_CASE("a new retention time takes effect at once, longer or shorter") {
  Fixture fixture;
  const Keeping keeping{fixture, std::chrono::hours{1}};
  const auto first = submit_and_end(fixture, "first");
  fixture.pass(milliseconds{5000});
  caf::anon_send(keeping.retention, KeepEnded{milliseconds{4000}});
  fixture.run_all();
  CHECK_FALSE(fixture.disk->jobs().contains(first));
  const auto second = submit_and_end(fixture, "second");
  caf::anon_send(keeping.retention, KeepEnded{std::chrono::hours{1}});
  fixture.pass(milliseconds{600'000});
  CHECK(fixture.disk->jobs().contains(second));
}

TEST_CASE("many jobs are removed in many steps, each in a commit of its own, with pauses") {
  Fixture fixture;
  constexpr int jobs = 10;
  for (int i = 0; i < jobs; ++i) submit_and_end(fixture, std::to_string(i));
  fixture.pass(milliseconds{2000});
  const auto commits = fixture.disk->commits();
  const Keeping keeping{fixture, milliseconds{1000}, 3};
  fixture.run_all();
  CHECK(fixture.disk->commits() == commits + 1);
  CHECK(fixture.disk->jobs().size() == jobs - 3);
  fixture.pass(milliseconds{128});
  CHECK(fixture.disk->jobs().size() == jobs - 6);
  for (int step = 0; step < 2; ++step) fixture.pass(milliseconds{128});
  CHECK(fixture.disk->jobs().empty());
}

TEST_CASE("a step ends after its time") {
  Fixture fixture;
  for (const auto* entity : {"a", "b", "c"}) submit_and_end(fixture, entity);
  fixture.pass(milliseconds{10});
  const Keeping keeping{fixture, milliseconds{1}, 3, microseconds{0}};
  fixture.run_all();
  CHECK(fixture.disk->jobs().size() == 2);
}

TEST_CASE("a whole pause follows the step that a new retention time causes") {
  Fixture fixture;
  for (int i = 0; i < 5; ++i) submit_and_end(fixture, std::to_string(i));
  fixture.pass(milliseconds{2000});
  const Keeping keeping{fixture, milliseconds{1000}, 1};
  fixture.pass(milliseconds{64});
  CHECK(fixture.disk->jobs().size() == 4);
  caf::anon_send(keeping.retention, KeepEnded{milliseconds{1000}});
  fixture.run_all();
  CHECK(fixture.disk->jobs().size() == 3);
  fixture.pass(milliseconds{127});  // By now, the pause after the first step would have ended.
  CHECK(fixture.disk->jobs().size() == 3);
  fixture.pass(milliseconds{1});
  CHECK(fixture.disk->jobs().size() == 2);
}

TEST_CASE("reopening a job that was pruned meanwhile finds nothing") {
  Fixture fixture;
  const auto id = fixture.submit("entity");
  fixture.end_call(id, outcome(CallOutcome::Kind::rejected));
  const auto job = fixture.stored(id);
  fixture.pass(milliseconds{2000});
  const Keeping keeping{fixture, milliseconds{1000}};
  fixture.run_all();
  CHECK_FALSE(fixture.disk->jobs().contains(id));
  const auto answer = fixture.reopen(job);
  CHECK_FALSE(answer.accepted);
  CHECK_FALSE(answer.job);
  CHECK_FALSE(answer.refusal);
  CHECK(fixture.cell().queue.counts[JobState::queued] == 0);
}

TEST_CASE("ended jobs are removed as fast as they come") {
  Fixture fixture;
  const Keeping keeping{fixture, milliseconds{1000}, 1};
  const auto pass = [&](int ms) {
    for (; ms > 0; ms -= 2) fixture.pass(milliseconds{2});
  };
  std::size_t number = 0;
  std::size_t most = 0;
  for (int tick = 0; tick < 300; ++tick) {  // 400 jobs a second for 15 s.
    for (int i = 0; i < 20; ++i) submit_and_end(fixture, "e" + std::to_string(++number));
    pass(50);
    if (tick > 200) most = std::max(most, fixture.disk->jobs().size());
  }
  CHECK(most < 800);  // A second's ends are 400.
  SECTION("and slowly again when fewer come") {
    pass(5000);
    for (int i = 0; i < 100; ++i) submit_and_end(fixture, "l" + std::to_string(i));
    pass(1200);
    CHECK(fixture.disk->jobs().size() > 90);
  }
}
