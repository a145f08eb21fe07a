// Work that takes several store operations, with at most three jobs or backlogs in each.
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells;  // NOLINT: tests of the engine.
using namespace cells_test;

namespace {

const CellKey catch_all{"*", "*"};
const CellKey acme{"acme", "*"};

/// An engine whose store operations take three of everything.
struct SmallSteps {
  SmallSteps() {
    fixture.limit_store_sizes({3, 3, 3, 3});
    fixture.crash_and_restart();
  }

  std::vector<JobId> submit(int count, const std::string& customer = "acme",
                            milliseconds delay = milliseconds{0}) {
    std::vector<JobId> ids;
    for (int i = 0; i < count; ++i) {
      JobRequest request = fixture.request(customer + std::to_string(i));
      request.spec.customer = customer;
      if (delay > milliseconds{0}) request.delay = delay;
      ids.push_back(fixture.submit(std::move(request)));
    }
    return ids;
  }

  /// Jobs that are held, because their service has been removed.
  std::vector<JobId> hold(int count) {
    std::vector<JobId> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back(fixture.submit(fixture.request(std::to_string(i), {"billing"})));
      fixture.end_call(ids.back(), outcome(CallOutcome::Kind::rejected, "no"));
    }
    fixture.reconfigure({rule("*")}, {}, {"billing"});
    for (const auto id : ids) CHECK(fixture.reopen(id).accepted);
    for (const auto id : ids) CHECK_FALSE(fixture.call_of(id));
    return ids;
  }

  void check_that_all_run(const std::vector<JobId>& ids) {
    for (const auto id : ids) {
      REQUIRE(fixture.call_of(id));
      fixture.succeed(id);
    }
  }

  std::uint64_t unfinished(const CellKey& key) {
    return fixture.cell(key).queue.counts.unfinished();
  }

  /// A rule for a cell of its own that starts no jobs.
  static CellRule rule(const std::string& customer) {
    CellRule rule;
    rule.customer = customer;
    rule.product = "*";
    rule.settings.pool_size = 1;
    return rule;
  }

  Fixture fixture;
};

}  // namespace

// Nine, ten and eleven: the last operation moves three, one or two jobs.
TEST_CASE("a reload moves all waiting jobs of a backlog, and counts each once") {
  const int jobs = GENERATE(9, 10, 11);
  SmallSteps engine;
  const auto ids = engine.submit(jobs);
  engine.fixture.reconfigure({SmallSteps::rule("acme"), SmallSteps::rule("*")});
  CHECK(engine.unfinished(acme) == static_cast<std::uint64_t>(jobs) - 1);
  CHECK(engine.unfinished(catch_all) == 1);  // The running one.
  for (std::size_t i = 1; i < ids.size(); ++i) CHECK(engine.fixture.stored(ids[i])->cell == acme);
}

TEST_CASE("jobs that are released and taken over at once stop moving") {
  const bool released_first = GENERATE(true, false);
  SmallSteps engine;
  const auto ids = engine.submit(3, "acme", milliseconds{60'000});
  const auto dispatcher =
      caf::actor_cast<JobDispatcher>(engine.fixture.recorder->dispatchers.back());
  const auto release = [&] { caf::anon_send(dispatcher, ReleaseJobs{"acme", "dns"}); };
  if (released_first) release();
  caf::anon_send(dispatcher, TakeOver{{between_cells, "acme", "dns"}});
  if (!released_first) release();
  int events = 0;
  while (engine.fixture.scheduler().try_run_once()) REQUIRE(++events < 1000);
  for (const auto id : ids) {
    CHECK(engine.fixture.stored(id)->cell == (released_first ? catch_all : between_cells));
  }
}

TEST_CASE("a start moves all jobs to the cell that the routing names") {
  const int jobs = GENERATE(9, 10, 11);
  SmallSteps engine;
  const auto ids = engine.submit(jobs);
  engine.fixture.configure({SmallSteps::rule("acme"), SmallSteps::rule("*")});
  engine.fixture.crash_and_restart();
  CHECK(engine.unfinished(acme) == static_cast<std::uint64_t>(jobs));
  CHECK(engine.unfinished(catch_all) == 0);
  for (const auto id : ids) CHECK(engine.fixture.stored(id)->cell == acme);
}

TEST_CASE("a start and a reload look at every backlog") {
  SmallSteps engine;
  constexpr int customers = 10;
  std::vector<CellRule> rules;
  for (int i = 0; i < customers; ++i) rules.push_back(SmallSteps::rule("c" + std::to_string(i)));
  const auto unfinished = [&](int customer) {
    return engine.unfinished({"c" + std::to_string(customer), "*"});
  };
  engine.submit(1, "busy");  // Keeps the only worker of the first cell busy.
  for (int i = 0; i < customers; ++i) engine.submit(2, "c" + std::to_string(i));
  rules.push_back(SmallSteps::rule("*"));
  engine.fixture.reconfigure(rules);
  for (int i = 0; i < customers; ++i) CHECK(unfinished(i) == 2);
  CHECK(engine.unfinished(catch_all) == 1);
  engine.fixture.crash_and_restart();
  CHECK(engine.unfinished(catch_all) == 2 * customers + 1);
}

TEST_CASE("all jobs that fall due at once become queued") {
  const int jobs = GENERATE(9, 10, 11);
  SmallSteps engine;
  const auto ids = engine.submit(jobs, "acme", milliseconds{100});
  CHECK(engine.fixture.cell().queue.counts[JobState::scheduled] ==
        static_cast<std::uint64_t>(jobs));
  engine.fixture.pass(milliseconds{100});
  for (int i = 0; i < jobs; i += 3) engine.fixture.pass(milliseconds{1});
  for (const auto id : ids) CHECK(engine.fixture.state(id) != JobState::scheduled);
  CHECK(engine.fixture.cell().queue.counts[JobState::scheduled] == 0);
  CHECK(engine.unfinished(catch_all) == static_cast<std::uint64_t>(jobs));
}

TEST_CASE("all jobs that were held run once a reload or a start brings their service") {
  SmallSteps engine;
  const auto ids = engine.hold(GENERATE(1, 9, 10, 11));
  SECTION("a reload") {
    engine.fixture.reconfigure({SmallSteps::rule("*")}, {"billing"});
  }
  SECTION("a reload that moves them, too") {
    engine.fixture.reconfigure({SmallSteps::rule("acme"), SmallSteps::rule("*")}, {"billing"});
  }
  SECTION("a start") {
    engine.fixture.crash_and_restart();
  }
  SECTION("a reload, after the dispatcher that held them has died") {
    caf::anon_send_exit(engine.fixture.recorder->dispatchers.back(),
                        caf::exit_reason::unhandled_exception);
    engine.fixture.run_all();
    engine.fixture.reconfigure({SmallSteps::rule("*")}, {"billing"});
  }
  engine.check_that_all_run(ids);
}

TEST_CASE("jobs whose service is still missing are held again, and none twice in a release") {
  SmallSteps engine;
  const auto ids = engine.hold(7);
  caf::anon_send_exit(engine.fixture.recorder->dispatchers.back(),
                      caf::exit_reason::unhandled_exception);
  int events = 0;  // The new dispatcher releases what its predecessor held.
  while (engine.fixture.scheduler().try_run_once()) REQUIRE(++events < 1000);
  for (const auto id : ids) CHECK_FALSE(engine.fixture.call_of(id));
  engine.fixture.reconfigure({SmallSteps::rule("*")}, {"billing"});
  engine.check_that_all_run(ids);
}

// These jobs are held in the lane of a protected service, which lacks an undo.
TEST_CASE("all jobs that were held in a lane run once a reload brings what they need") {
  const int jobs = GENERATE(9, 10, 11);
  SmallSteps engine;
  auto& fixture = engine.fixture;
  fixture.protection["dns"] = {ServiceLimits{1, std::nullopt, 1}, std::nullopt};
  fixture.crash_and_restart();
  std::vector<JobId> ids;
  for (int i = 0; i < jobs; ++i) {
    auto request = fixture.request(std::to_string(i), {"dns", "billing"});
    request.spec.on_failure = OnFailure::compensate;
    ids.push_back(fixture.submit(std::move(request)));
  }
  for (int succeeded = 0; succeeded < jobs;) {
    for (const auto id : ids) {
      if (!fixture.call_of(id) || fixture.stored(id)->step != 0) continue;
      fixture.succeed(id);
      ++succeeded;
    }
    for (const auto id : ids) {  // The only worker tries the second step in between.
      if (fixture.call_of(id) && fixture.stored(id)->step == 1) {
        fixture.end_call(id, outcome(CallOutcome::Kind::retryable, "busy"));
      }
    }
  }
  fixture.undoes["dns"] = {};
  fixture.crash_and_restart();
  for (int rounds = 0; rounds < 100; ++rounds) {
    fixture.pass(milliseconds{1000});
    for (const auto id : ids) {
      if (fixture.call_of(id)) fixture.end_call(id, outcome(CallOutcome::Kind::rejected, "no"));
    }
  }
  for (const auto id : ids) REQUIRE(fixture.state(id) == JobState::compensating);
  for (const auto id : ids) CHECK_FALSE(fixture.call_of(id));
  fixture.undoes.erase("dns");
  fixture.reconfigure({SmallSteps::rule("*")}, {"dns"});
  engine.check_that_all_run(ids);
}
