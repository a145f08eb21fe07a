// Actors of the engine that die: workers, dispatchers, providers.
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

TEST_CASE("a request to a cell dispatcher that dies meanwhile is answered") {
  const auto is_answered = [](int steps, auto question, const auto& answer) {
    Fixture engine;
    auto asked = engine.self()->request(engine.engine(), caf::infinite, std::move(question));
    for (int i = 0; i < steps; ++i) engine.scheduler().try_run_once();
    caf::anon_send_exit(engine.engine(), caf::exit_reason::kill);
    engine.run_all();
    if (!engine.self()->has_next_message()) return false;
    asked.receive([](const decltype(answer)&) {}, [](const caf::error&) {});
    return true;
  };
  for (int steps = 0; steps < 8; ++steps) {
    INFO(steps << " steps");
    CHECK(is_answered(steps, ListCells{std::nullopt, 1}, CellsListed{}));
    CHECK(is_answered(steps, ListServices{}, ServicesListed{}));
    CHECK(is_answered(steps, RequestLeases{1, "vm", "host-1", {}}, LeasesGranted{}));
    SubmitJob with_key{Fixture{}.request("a")};
    with_key.request.idempotency.emplace();
    CHECK(is_answered(steps, with_key, JobSubmitted{}));
  }
}

TEST_CASE("a heartbeat is answered although the engine ends meanwhile") {
  for (int steps = 0; steps < 12; ++steps) {
    INFO(steps << " steps");
    Fixture engine;
    engine.submit(engine.request("a", {"vm"}));
    const Lease lease = engine.lease("host-1").at(0).job->lease;
    auto asked =
        engine.self()->request(engine.engine(), caf::infinite, ExtendLease{lease, nullptr, {}, {}});
    for (int i = 0; i < steps; ++i) engine.scheduler().try_run_once();
    caf::anon_send_exit(engine.engine(), caf::exit_reason::kill);
    engine.run_all();
    REQUIRE(engine.self()->has_next_message());
    asked.receive([](const LeaseExtended&) {}, [](const caf::error&) {});
  }
}

TEST_CASE("a request for the state of a service that ends meanwhile is answered") {
  const auto check = [](std::size_t which, int steps) {
    Fixture engine{2};
    engine.protection["dns"] = {{1, std::nullopt, 1}, std::nullopt};
    engine.crash_and_restart();
    engine.submit("a");
    engine.submit("b");  // Waits for the permit, so the service asks its cell.
    const auto service = caf::actor_cast<ServiceClient>(engine.recorder->services.at(which));
    auto asked = engine.self()->request(service, caf::infinite, DescribeService{});
    for (int i = 0; i < steps; ++i) engine.scheduler().try_run_once();
    caf::anon_send_exit(service, caf::exit_reason::user_shutdown);
    engine.run_all();
    REQUIRE(engine.self()->has_next_message());
    asked.receive([](const ServiceDescribed&) {}, [](const caf::error&) {});
  };
  for (std::size_t which = 0; which < Fixture{}.recorder->services.size(); ++which) {
    for (int steps = 0; steps < 8; ++steps) {
      INFO("service " << which << ", " << steps << " steps");
      check(which, steps);
    }
  }
}

TEST_CASE("a job whose worker dies three times fails as interrupted") {
  Fixture engine{1};
  const JobId job = engine.submit("a");
  for (int crash = 0; crash < 3; ++crash) {
    REQUIRE(engine.call_of(job));
    caf::anon_send_exit(engine.recorder->workers.back(), caf::exit_reason::unhandled_exception);
    engine.run_all();
  }
  CHECK(engine.state(job) == JobState::failed);
  CHECK(engine.stored(job)->error->code == "interrupted");
  CHECK(engine.stored(job)->steps[0].attempts == 0);
  CHECK(engine.calls->pending.empty());
  CHECK(count_alive(engine.recorder->workers) == 1);
}

TEST_CASE("the successor of a dead dispatcher starts from the store") {
  Fixture engine{2};
  const JobId running = engine.submit("a");
  const JobId other = engine.submit("b");
  const JobId waiting = engine.submit("c");
  caf::anon_send_exit(engine.recorder->dispatchers.at(0), caf::exit_reason::unhandled_exception);
  engine.run_all();
  CHECK(engine.recorder->dispatchers.size() == 2);
  CHECK(engine.recorder->restarted_cells == std::vector{CellKey{"*", "*"}});
  CHECK(engine.calls->pending.size() == 2);
  for (const JobId job : {running, other, waiting}) engine.succeed(job);
  for (const JobId job : {running, other, waiting}) CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("an end that a dying dispatcher stored but did not report is announced as lost") {
  bool met = false;
  for (int steps = 0; steps < 20; ++steps) {
    Fixture engine{1};
    const JobId job = engine.submit("a");
    const PendingCall& call = *engine.call_of(job);
    caf::anon_send(call.provider, EndCall{call.call.lease, outcome(CallOutcome::Kind::succeeded)});
    for (int i = 0; i < steps; ++i) engine.scheduler().try_run_once();
    caf::anon_send_exit(engine.recorder->dispatchers.back(), caf::exit_reason::unhandled_exception);
    engine.run_all();
    if (!is_ended(engine.state(job)) || engine.reported_ended.contains(job)) continue;
    met = true;
    CHECK(engine.reported_lost);
  }
  CHECK(met);
}

TEST_CASE("the death of a provider costs an attempt and no job") {
  Fixture engine{1};
  const JobId job = engine.submit("a");
  engine.end_call(job, std::nullopt);
  CHECK(engine.state(job) == JobState::retrying);
  CHECK(engine.stored(job)->messages.back().severity == Severity::warning);
  engine.pass(milliseconds{2000});
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("a job whose only attempt loses its provider says that there was no answer") {
  Fixture engine{1};
  auto request = engine.request("a");
  request.spec.max_attempts = 1;
  const JobId job = engine.submit(std::move(request));
  engine.end_call(job, std::nullopt);
  REQUIRE(engine.state(job) == JobState::failed);
  CHECK(engine.stored(job)->error ==
        JobError{"communications_error", "the call ended without an answer", "dns"});
}

TEST_CASE("a dead provider's call keeps worker and entity until the successor confirms its end") {
  const bool answers = GENERATE(true, false);
  Fixture engine{1};
  engine.calls->ignores_aborts = true;
  const JobId job = engine.submit("a");
  const JobId follower = engine.submit("a");
  const JobId other = engine.submit("b");
  engine.kill_provider(job, answers);
  CHECK(engine.recorder->restarts.size() == 1);
  engine.pass(milliseconds{5000});
  CHECK(engine.state(job) == JobState::running);
  CHECK(engine.calls->pending.size() == 1);
  engine.end_call(job, outcome(CallOutcome::Kind::aborted));
  CHECK(engine.state(job) == JobState::retrying);
  CHECK(engine.call_of(other));
  CHECK_FALSE(engine.call_of(follower));
}

TEST_CASE("an attempt without a worker ends soon after its provider dies") {
  Fixture engine{1};
  engine.calls->ignores_aborts = true;
  const JobId job = engine.submit("a");
  const Lease lease = engine.call_of(job)->call.lease;
  caf::anon_send_exit(engine.recorder->workers.back(), caf::exit_reason::unhandled_exception);
  engine.run_all();
  engine.end_call(job, std::nullopt);  // While it is being aborted.
  engine.pass(milliseconds{9});
  CHECK_FALSE(engine.call_of(job));
  engine.pass(milliseconds{1});
  REQUIRE(engine.call_of(job));
  CHECK(engine.call_of(job)->call.lease > lease);
}

TEST_CASE("a provider that dies without a call is replaced, and the probe sees it") {
  Fixture engine{1};
  engine.succeed(engine.submit("a"));
  const auto providers = engine.recorder->providers;
  CHECK(engine.recorder->restarts.empty());
  for (const auto& provider : providers) {
    caf::anon_send_exit(provider, caf::exit_reason::unhandled_exception);
  }
  engine.run_all();
  CHECK(engine.recorder->restarts.size() == providers.size());
  CHECK(count_alive(engine.recorder->providers) == providers.size());
  const JobId job = engine.submit("b");
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("a provider that dies after a reload has replaced it is not reported as restarted") {
  Fixture engine{1};
  const JobId job = engine.submit("a");
  engine.reconfigure({CellRule{}}, {"dns"});
  const auto providers = engine.recorder->providers.size();
  engine.kill_provider(job);
  CHECK(engine.state(job) == JobState::retrying);
  CHECK(engine.recorder->restarts.empty());
  CHECK(engine.recorder->providers.size() == providers);
}

TEST_CASE("the death of a service client ends the engine") {
  Fixture engine;
  engine.self()->monitor(engine.engine());
  REQUIRE(count_alive(engine.recorder->services) > 0);
  caf::anon_send_exit(engine.recorder->services.back(), caf::exit_reason::unhandled_exception);
  engine.run_all();
  CHECK(engine.self()->has_next_message());
  CHECK(count_alive(engine.recorder->dispatchers) == 0);
}
