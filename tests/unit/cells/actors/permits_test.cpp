// Services with limits or a circuit breaker, and the permits for their calls.
#include <map>
#include <string>
#include <utility>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

namespace {

using Kind = CallOutcome::Kind;
using Ids = std::vector<JobId>;

constexpr CircuitPolicy policy{2, milliseconds{30'000}, milliseconds{5000}, milliseconds{60'000}};

ServiceLimits at_most(std::uint32_t concurrency) {
  return {concurrency, std::nullopt, 1};
}

/// An engine whose service "dns" is protected like this.
struct Protected : Fixture {
  explicit Protected(const Protection& dns, std::uint32_t pool_size = 4, bool per_customer = false)
      : Fixture(pool_size, per_customer) {
    protection["dns"] = dns;
    crash_and_restart();
  }

  using Fixture::submit;
  JobId submit(const std::string& customer, const std::string& entity) {
    auto of = request(entity);
    of.spec.customer = customer;
    return Fixture::submit(std::move(of));
  }
  Ids submit_many(int count) {
    Ids ids;
    for (int n = 0; n < count; ++n) ids.push_back(submit("entity-" + std::to_string(n)));
    return ids;
  }
  std::size_t in_flight() const { return calls->pending.size(); }
  JobId first_in_flight() const { return calls->pending.at(0).call.job->id; }
  void fail(JobId id, Kind kind = Kind::retryable) { end_call(id, outcome(kind, "busy")); }
  void kill_dispatcher() {
    const auto dispatcher = recorder->dispatchers.back();
    caf::anon_send_exit(caf::actor_cast<caf::strong_actor_ptr>(dispatcher), caf::exit_reason::kill);
    run_all();
  }
};

CallOutcome asking_for_pause(milliseconds pause) {
  auto result = outcome(Kind::throttled, "provider_error");
  result.retry_after = pause;
  result.pauses_service = true;
  return result;
}

/// Restarts the engine, so that its services are protected. Two customers have a job each. The
/// dispatcher of the first dies after its lease was stored, and before the lease desk knows of it.
void lose_a_grant(Fixture& engine) {
  engine.crash_and_restart();
  const auto first = engine.recorder->dispatchers.size();
  for (const auto* customer : {"acme", "other"}) {
    auto of = engine.request("a", {"vm"});
    of.spec.customer = customer;
    engine.submit(std::move(of));
  }
  engine.commit_delay = milliseconds{20};
  engine.wait_for_lease("host-1");
  const auto dispatcher = engine.recorder->dispatchers[first];
  caf::anon_send_exit(caf::actor_cast<caf::strong_actor_ptr>(dispatcher), caf::exit_reason::kill);
  for (int n = 0; n < 5; ++n) engine.pass(milliseconds{100});
  engine.commit_delay = milliseconds{0};
}

/// A cell that takes no permit; counts what it hears from a desk.
LaneHolder::behavior_type without_jobs(LaneHolder::pointer, int* heard) {
  return {[](const GrantLeases&) { return GrantAnswered{}; },
          [heard](const GrantPermits&) {
            *heard += 1;
            return PermitsTaken{};
          },
          [heard](const DeclineSlot&) { *heard += 1; },
          [](const DescribeLane&) { return LaneDescribed{}; },
          [](const ReturnLeases&) {},
          [](const ExtendLease&) { return LeaseExtended{}; },
          [](const EndLease&) { return LeaseEnded{}; }};
}

/// Of so many calls, one after the other, those for the customer `quick`. They take a quarter of
/// the time of the others.
int calls_of_quick(Protected& engine, int count) {
  int found = 0;
  for (int turn = 0; turn < count; ++turn) {
    REQUIRE(engine.in_flight() == 1);
    const JobId job = engine.first_in_flight();
    const bool is_quick = engine.stored(job)->spec->customer == "quick";
    found += is_quick ? 1 : 0;
    engine.pass(milliseconds{is_quick ? 10 : 40});
    engine.succeed(job);
  }
  return found;
}

}  // namespace

// --- Turns ---------------------------------------------------------------------------------------

TEST_CASE("when calls end together, a protected service and an unprotected one share the slots") {
  constexpr int slots = 32;
  constexpr int rounds = 40;
  Protected engine{{at_most(1000), std::nullopt}, slots};
  for (int n = 0; n < 900; ++n) {
    engine.submit("guarded", "guarded-" + std::to_string(n));
    auto other = engine.request("free-" + std::to_string(n), {"billing"});
    other.spec.customer = "free";
    engine.submit(std::move(other));
  }
  std::map<std::string, int> ended;
  for (int round = 0; round < rounds; ++round) {
    engine.pass(milliseconds{300});
    REQUIRE(engine.in_flight() == slots);
    for (const auto& pending : engine.calls->pending) {
      ++ended[pending.call.job->spec->customer];
      caf::anon_send(pending.provider,
                     EndCall{pending.call.lease, outcome(CallOutcome::Kind::succeeded)});
    }
    engine.run_all();
  }
  CHECK(ended["guarded"] >= slots * rounds * 45 / 100);
  CHECK(ended["free"] >= slots * rounds * 45 / 100);
}

TEST_CASE("a protected service and an unprotected one share a slot by the time of their calls") {
  Protected engine{{at_most(100), std::nullopt}, 1};
  for (int n = 0; n < 30; ++n) {
    engine.submit("slow", "s" + std::to_string(n));
    auto quick = engine.request("q" + std::to_string(n), {"billing"});
    quick.spec.customer = "quick";
    engine.submit(std::move(quick));
  }
  CHECK(calls_of_quick(engine, 20) >= 14);  // Four of five in the long run.
}

TEST_CASE("the services of one customer take turns at a slot") {
  const bool both_are_protected = GENERATE(false, true);
  Fixture engine{1};
  engine.protection["dns"] = {at_most(100), std::nullopt};
  if (both_are_protected) engine.protection["billing"] = {at_most(100), std::nullopt};
  engine.crash_and_restart();
  for (int n = 0; n < 10; ++n) {
    engine.submit(engine.request("d" + std::to_string(n)));
    engine.submit(engine.request("b" + std::to_string(n), {"billing"}));
  }
  int of_dns = 0;
  for (int turn = 0; turn < 10; ++turn) {
    REQUIRE(engine.calls->pending.size() == 1);
    const auto job = engine.calls->pending[0].call.job;
    of_dns += job->spec->services[0] == "dns" ? 1 : 0;
    engine.pass(milliseconds{10});
    engine.succeed(job->id);
  }
  CHECK(of_dns >= 4);
  CHECK(of_dns <= 6);
}

// --- Limits --------------------------------------------------------------------------------------

TEST_CASE("no more calls are in flight than the limit allows") {
  Protected engine{{at_most(2), std::nullopt}};
  const Ids jobs = engine.submit_many(5);
  CHECK(engine.in_flight() == 2);
  CHECK(engine.state(jobs[4]) == JobState::queued);
  CHECK(engine.stored(jobs[4])->steps[0].attempts == 0);
  CHECK(engine.service("dns").in_flight == 2);
  CHECK(engine.service("dns").waiting == 3);
  for (int ended = 0; ended < 5; ++ended) {
    CHECK(engine.in_flight() <= 2);
    engine.succeed(engine.first_in_flight());
  }
  for (const JobId job : jobs) CHECK(engine.state(job) == JobState::succeeded);
  CHECK(engine.service("dns").waiting == 0);
  CHECK(engine.service("dns").ended_per_s == 0.5);
  engine.pass(milliseconds{10'000});
  CHECK(engine.service("dns").ended_per_s == 0);
}

TEST_CASE("a job over a limit takes no worker from other services") {
  Protected engine{{at_most(1), std::nullopt}, 2};
  engine.submit_many(3);
  const JobId other = engine.submit(engine.request("other", {"billing"}));
  CHECK(engine.call_of(other));
  CHECK(engine.in_flight() == 2);
  CHECK(engine.cell().pool.busy == 2);
}

TEST_CASE("a limit holds for all cells together, and cells take turns") {
  Protected engine{{at_most(1), std::nullopt}, 4, true};
  for (int n = 0; n < 10; ++n) engine.submit("flood", "f" + std::to_string(n));
  for (int n = 0; n < 5; ++n) engine.submit("quiet", "q" + std::to_string(n));
  CHECK(engine.service("dns").waiting == 14);
  int of_quiet = 0;
  for (int turn = 0; turn < 10; ++turn) {
    REQUIRE(engine.in_flight() == 1);
    const JobId job = engine.first_in_flight();
    if (engine.stored(job)->spec->customer == "quiet") ++of_quiet;
    engine.pass(milliseconds{10});
    engine.succeed(job);
  }
  CHECK(of_quiet >= 4);
}

TEST_CASE("cells share a limited service by the time of their calls") {
  Protected engine{{at_most(1), std::nullopt}, 4, true};
  for (int n = 0; n < 20; ++n) {
    engine.submit("quick", "q" + std::to_string(n));
    engine.submit("slow", "s" + std::to_string(n));
  }
  CHECK(calls_of_quick(engine, 20) >= 14);  // Four of five in the long run.
}

TEST_CASE("the customers of a cell take turns at a limited service") {
  Protected engine{{at_most(1), std::nullopt}};
  for (int n = 0; n < 10; ++n) engine.submit("flood", "f" + std::to_string(n));
  for (int n = 0; n < 5; ++n) engine.submit("quiet", "q" + std::to_string(n));
  int of_quiet = 0;
  for (int turn = 0; turn < 10; ++turn) {
    REQUIRE(engine.in_flight() == 1);
    const JobId job = engine.first_in_flight();
    if (engine.stored(job)->spec->customer == "quiet") ++of_quiet;
    engine.pass(milliseconds{10});
    engine.succeed(job);
  }
  CHECK(of_quiet >= 4);
}

TEST_CASE("calls begin at the limited rate") {
  Protected engine{{{std::nullopt, 10, 2}, std::nullopt}, 8};
  engine.submit_many(5);
  CHECK(engine.in_flight() == 2);
  engine.pass(milliseconds{99});
  CHECK(engine.in_flight() == 2);
  engine.pass(milliseconds{1});
  CHECK(engine.in_flight() == 3);
  engine.pass(milliseconds{100});
  CHECK(engine.in_flight() == 4);
}

TEST_CASE("a permit comes back however its attempt ends") {
  Protected engine{{at_most(1), std::nullopt}, 4};
  const JobId job = engine.submit("a");
  const JobId next = engine.submit("b");
  REQUIRE(engine.call_of(job));
  SECTION("the provider rejects it") {
    engine.fail(job, Kind::rejected);
  }
  SECTION("it is cancelled") {
    engine.cancel(job);
  }
  SECTION("it reaches its deadline") {
    engine.pass(milliseconds{1000});
  }
  SECTION("its provider dies") {
    engine.kill_provider(job);
  }
  SECTION("its worker dies") {
    for (const auto& worker : engine.recorder->workers) {
      caf::anon_send_exit(caf::actor_cast<caf::strong_actor_ptr>(worker), caf::exit_reason::kill);
    }
    engine.run_all();
    if (engine.call_of(job)) engine.succeed(job);
  }
  SECTION("its dispatcher dies") {
    engine.kill_dispatcher();
    engine.pass(milliseconds{100});
    if (engine.call_of(job)) engine.succeed(job);
  }
  CHECK(engine.in_flight() == 1);
  CHECK(engine.call_of(next));
}

TEST_CASE("a dispatcher that dies again and again leaks no permit and never exceeds the limit") {
  Protected engine{{at_most(2), std::nullopt}};
  const Ids jobs = engine.submit_many(6);
  for (int death = 0; death < 5; ++death) {
    engine.kill_dispatcher();
    CHECK(engine.in_flight() <= 2);
    engine.pass(milliseconds{200});
    CHECK(engine.in_flight() <= 2);
    if (engine.in_flight() > 0) engine.succeed(engine.first_in_flight());
  }
  for (int turn = 0; turn < 20 && engine.in_flight() > 0; ++turn) {
    engine.succeed(engine.first_in_flight());
    engine.pass(milliseconds{200});
  }
  for (const JobId job : jobs) {
    CHECK((engine.state(job) == JobState::succeeded || engine.state(job) == JobState::failed));
  }
  CHECK(engine.service("dns").in_flight == 0);
}

TEST_CASE("an offered slot is answered although another cell runs out of jobs meanwhile") {
  Fixture engine;
  for (const auto* name : {"billing", "dns", "gpu"}) {
    engine.protection[name] = {at_most(1), std::nullopt};
  }
  engine.crash_and_restart();
  const auto client = caf::actor_cast<ServiceClient>(engine.recorder->services.front());
  int of_asked = 0;
  int of_offering = 0;
  const auto asked = engine.system().spawn(without_jobs, &of_asked);
  const auto offering = engine.system().spawn(without_jobs, &of_offering);
  caf::anon_send(client, LaneFilled{"dns", {"acme", "*"}, asked, 1});
  caf::anon_send(client, SlotOffered{"dns", {"bolt", "*"}, offering, std::nullopt});
  caf::anon_send(client, LaneEmptied{"dns", {"core", "*"}});
  engine.run_all();
  CHECK(of_asked == 1);
  CHECK(of_offering == 1);
  for (const auto& holder : {asked, offering}) {
    caf::anon_send_exit(caf::actor_cast<caf::actor>(holder), caf::exit_reason::kill);
  }
  engine.run_all();
}

TEST_CASE("no timer runs until the end of a pause while no job waits for the service") {
  Fixture engine;
  engine.protection["billing"] = {at_most(1), std::nullopt};
  engine.crash_and_restart();
  engine.scheduler().clock().cancel_all();  // Timers from the start.
  const auto client = caf::actor_cast<ServiceClient>(engine.recorder->services.front());
  const Lease lease{1, 1};
  caf::anon_send(client, StartCall{lease, std::make_shared<const Job>(), milliseconds{1000}});
  caf::anon_send(client,
                 PermitOver{lease, {"acme", "*"}, {}, {CallSign::nothing, milliseconds{5000}, {}}});
  engine.run_all();
  CHECK(engine.scheduler().trigger_timeouts() == 0);
  CHECK(engine.service("billing").paused_until);
}

// --- Reloads and restarts ------------------------------------------------------------------------

TEST_CASE("a reload that adds a limit counts the calls in flight") {
  Fixture engine{4};
  for (const auto* entity : {"a", "b", "c"}) engine.submit(entity);
  CHECK(engine.calls->pending.size() == 3);
  CellRule rule;
  rule.settings.pool_size = 4;
  engine.protection["dns"] = {at_most(2), std::nullopt};
  engine.reconfigure({rule}, {"dns"});
  const JobId waiting = engine.submit("d");
  CHECK(engine.calls->pending.size() == 3);
  engine.succeed(engine.calls->pending[0].call.job->id);
  CHECK_FALSE(engine.call_of(waiting));
  engine.succeed(engine.calls->pending[0].call.job->id);
  CHECK(engine.call_of(waiting));
}

TEST_CASE("a reload that removes a limit lets the waiting jobs run") {
  Protected engine{{at_most(1), std::nullopt}};
  engine.submit_many(4);
  CHECK(engine.in_flight() == 1);
  CellRule rule;
  rule.settings.pool_size = 4;
  engine.protection.clear();
  engine.reconfigure({rule}, {"dns"});
  CHECK(engine.in_flight() == 4);
}

TEST_CASE("a cell that held a permit when a reload removed the limit is forgotten with its end") {
  Protected engine{{at_most(1), std::nullopt}};
  const JobId running = engine.submit("a");
  CellRule rule;
  rule.settings.pool_size = 4;
  engine.protection.clear();
  engine.reconfigure({rule}, {"dns"});
  engine.succeed(running);
  const auto cells = engine.recorder->cells;
  REQUIRE(count_alive(cells) == 1);
  engine.reconfigure({}, {"dns"});
  for (int n = 0; n < 20; ++n) engine.pass(milliseconds{1000});
  CHECK(count_alive(cells) == 0);
}

TEST_CASE("a cell whose jobs were cancelled while they waited for a permit is forgotten") {
  Protected engine{{at_most(1), std::nullopt}, 4, true};
  engine.submit("acme", "a");
  const JobId waiting = engine.submit("bolt", "b");
  REQUIRE_FALSE(engine.call_of(waiting));
  REQUIRE(engine.cancel(waiting).accepted);
  REQUIRE(count_alive(engine.recorder->cells) == 2);
  for (int n = 0; n < 30; ++n) engine.pass(milliseconds{1000});  // The other job fails meanwhile.
  CHECK(count_alive(engine.recorder->cells) == 0);
}

TEST_CASE("permits that are taken while a reload removes the limit do not count under the next") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    Protected engine{{at_most(1), std::nullopt}};
    CellRule rule;
    rule.settings.pool_size = 4;
    const auto protection = std::exchange(engine.protection, {});
    for (const auto* entity : {"a", "b", "c"}) {
      caf::anon_send(engine.engine(), SubmitJob{engine.request(entity)});
    }
    engine.reconfigure({rule}, {"dns"}, {}, [&] { engine.run_all_in_any_order(seed); });
    while (engine.in_flight() > 0) engine.succeed(engine.first_in_flight());
    engine.protection = protection;
    engine.reconfigure({rule}, {"dns"});
    REQUIRE(engine.call_of(engine.submit("d")));
  }
}

TEST_CASE("a permit comes back while workers outside have the service") {
  Protected engine{{at_most(1), std::nullopt}};
  const Ids jobs = engine.submit_many(2);
  CellRule rule;
  rule.settings.pool_size = 4;
  engine.pull_services.insert("dns");
  engine.reconfigure({rule}, {"dns"});
  engine.succeed(jobs[0]);
  engine.pull_services.erase("dns");
  engine.reconfigure({rule}, {"dns"});
  CHECK(engine.call_of(jobs[1]));
}

TEST_CASE("jobs that waited for a permit run after a restart, with a limit or without") {
  Protected engine{{at_most(1), std::nullopt}};
  const Ids jobs = engine.submit_many(3);
  const bool limited = GENERATE(true, false);
  if (!limited) engine.protection.clear();
  engine.crash_and_restart();
  engine.pass(milliseconds{100});
  CHECK(engine.in_flight() == (limited ? 1 : 3));
  while (engine.in_flight() > 0) engine.succeed(engine.first_in_flight());
  for (const JobId job : jobs) CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("an engine that has ended leaves no client of a protected service in memory") {
  Protected engine{{at_most(1), std::nullopt}};
  engine.submit_many(2);  // The second one waits for a permit.
  const auto services = engine.recorder->services;
  REQUIRE_FALSE(services.empty());
  engine.crash_and_restart();
  CHECK(count_alive(services) == 0);
}

// --- Circuits ------------------------------------------------------------------------------------

TEST_CASE("behind an open circuit, jobs stay queued and use up no attempt") {
  Protected engine{{{}, policy}};
  const Ids jobs = engine.submit_many(4);
  CHECK(engine.in_flight() == 4);
  engine.fail(jobs[0]);
  engine.fail(jobs[1]);
  CHECK(engine.service("dns").circuit == CircuitState::open);
  CHECK(engine.service("dns").circuit_why == "2 failures in a row; the last one: ");
  engine.succeed(jobs[2]);  // It began before: the circuit stays open.
  const JobId late = engine.submit("late");
  engine.pass(milliseconds{4999});
  CHECK(engine.in_flight() == 0);
  CHECK(engine.state(late) == JobState::queued);
  CHECK(engine.state(jobs[0]) == JobState::retrying);
  CHECK(engine.stored(jobs[0])->steps[0].attempts == 1);
  SECTION("until a probe succeeds") {
    engine.pass(milliseconds{1});
    CHECK(engine.service("dns").circuit == CircuitState::half_open);
    REQUIRE(engine.in_flight() == 1);
    engine.succeed(engine.first_in_flight());
    CHECK(engine.service("dns").circuit == CircuitState::closed);
    CHECK(engine.in_flight() == 2);
  }
  SECTION("until a reset") {
    CHECK(engine.reset_service("dns").circuit == CircuitState::closed);
    CHECK(engine.in_flight() == 3);
  }
}

TEST_CASE("a reload that shortens the time of an open circuit lets the probe begin earlier") {
  Protected engine{{{}, policy}};
  const Ids jobs = engine.submit_many(2);
  engine.fail(jobs[0]);
  engine.fail(jobs[1]);
  engine.pass(milliseconds{1000});
  CHECK(engine.in_flight() == 0);
  CellRule rule;
  rule.settings.pool_size = 4;
  auto shorter = policy;
  shorter.open = milliseconds{1500};
  engine.protection["dns"].circuit = shorter;
  engine.reconfigure({rule}, {"dns"});
  engine.pass(milliseconds{499});
  CHECK(engine.in_flight() == 0);
  engine.pass(milliseconds{1});
  CHECK(engine.in_flight() == 1);
}

TEST_CASE("a probe that fails uses up no attempt") {
  Protected engine{{{}, policy}};
  const Ids jobs = engine.submit_many(2);
  engine.fail(jobs[0]);
  engine.fail(jobs[1]);
  for (int probe = 0; probe < 5; ++probe) {
    engine.pass(milliseconds{5000});
    REQUIRE(engine.in_flight() == 1);
    engine.fail(engine.first_in_flight(), probe % 2 == 0 ? Kind::retryable : Kind::unknown);
  }
  for (const JobId job : jobs) CHECK(engine.stored(job)->steps[0].attempts == 1);
}

TEST_CASE("a job for which the provider fails does not keep the circuit open for the others") {
  Protected engine{{{}, policy}, 1};
  const Ids bad{engine.submit("bad-1"), engine.submit("bad-2")};
  const JobId good = engine.submit("good");
  const auto is_bad = [&](JobId job) { return job == bad[0] || job == bad[1]; };
  for (int calls = 0; calls < 2; ++calls) engine.fail(engine.first_in_flight());
  REQUIRE(engine.service("dns").circuit == CircuitState::open);
  for (int probes = 0; probes < 3 && engine.state(good) != JobState::succeeded; ++probes) {
    engine.pass(milliseconds{5000});
    REQUIRE(engine.in_flight() == 1);
    const JobId job = engine.first_in_flight();
    is_bad(job) ? engine.fail(job) : engine.succeed(job);
  }
  CHECK(engine.state(good) == JobState::succeeded);
  CHECK(engine.service("dns").circuit == CircuitState::closed);
}

TEST_CASE("the probe sees a circuit open and close, but none of the circuit's probes") {
  Protected engine{{{}, policy}, 1};
  engine.submit_many(4);
  for (int calls = 0; calls < 2; ++calls) engine.fail(engine.first_in_flight());
  const std::string opened = "dns opened";
  CHECK(engine.recorder->circuits == std::vector{opened});
  engine.pass(milliseconds{5000});
  engine.fail(engine.first_in_flight());
  engine.pass(milliseconds{5000});
  CHECK(engine.recorder->circuits == std::vector{opened});
  const std::string closed = "dns closed";
  SECTION("by a call that succeeds") {
    engine.succeed(engine.first_in_flight());
    CHECK(engine.recorder->circuits == std::vector{opened, closed});
  }
  SECTION("by a reset") {
    engine.reset_service("dns");
    CHECK(engine.recorder->circuits == std::vector{opened, closed});
  }
  SECTION("by a reload that removes it") {
    engine.protection.clear();
    engine.reconfigure({CellRule{}}, {"dns"});
    CHECK(engine.recorder->circuits == std::vector{opened, closed});
  }
}

TEST_CASE("a reset closes the circuit of its service alone") {
  Fixture engine{4};
  engine.protection["dns"] = engine.protection["billing"] = {{}, policy};
  engine.crash_and_restart();
  for (const auto* service : {"dns", "billing"}) {
    for (const auto* entity : {"a", "b"}) {
      const JobId job = engine.submit(engine.request(service + std::string{entity}, {service}));
      engine.end_call(job, outcome(Kind::retryable, "busy"));
    }
    REQUIRE(engine.service(service).circuit == CircuitState::open);
  }
  engine.reset_service("dns");
  CHECK(engine.service("dns").circuit == CircuitState::closed);
  CHECK(engine.service("billing").circuit == CircuitState::open);
}

TEST_CASE("probes go round the jobs of a lane until one succeeds") {
  Protected engine{{{}, policy}, 1};
  const Ids jobs = engine.submit_many(3);
  for (int calls = 0; calls < 2; ++calls) engine.fail(engine.first_in_flight());
  std::map<JobId, int> probes;
  for (int n = 0; n < 9; ++n) {
    engine.pass(milliseconds{5000});
    REQUIRE(engine.in_flight() == 1);
    probes[engine.first_in_flight()] += 1;
    engine.fail(engine.first_in_flight());
  }
  for (const JobId job : jobs) CHECK(probes[job] == 3);
}

TEST_CASE("a job whose probe failed is probed in its turn when the circuit opens again") {
  Protected engine{{{}, policy}, 1};
  const Ids jobs = engine.submit_many(4);
  const auto next_is = [&](JobId job) { return engine.in_flight() == 1 && engine.call_of(job); };
  const auto pass_until_probe = [&] {
    engine.pass(milliseconds{1000});  // By now the jobs that failed wait for a permit again.
    engine.pass(milliseconds{4000});
  };
  for (const JobId job : {jobs[0], jobs[1]}) engine.fail(job);
  pass_until_probe();
  REQUIRE(next_is(jobs[0]));
  engine.fail(jobs[0]);
  pass_until_probe();
  REQUIRE(next_is(jobs[1]));
  engine.succeed(jobs[1]);
  REQUIRE(engine.service("dns").circuit == CircuitState::closed);
  for (const JobId job : {jobs[0], jobs[2]}) engine.fail(job);
  REQUIRE(engine.service("dns").circuit == CircuitState::open);
  pass_until_probe();
  CHECK(next_is(jobs[0]));
}

TEST_CASE("a call counts for the circuit in whatever order its messages arrive") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Protected engine{{{}, CircuitPolicy{1, milliseconds{1000}, milliseconds{1000}}}};
    caf::anon_send(engine.engine(), SubmitJob{engine.request("a")});
    engine.run_all_in_any_order(seed);
    REQUIRE(engine.in_flight() == 1);
    engine.fail(engine.first_in_flight());
    INFO("seed " << seed);
    CHECK(engine.service("dns").circuit == CircuitState::open);
  }
}

TEST_CASE("rejections do not open a circuit") {
  Protected engine{{{}, policy}};
  for (const JobId job : engine.submit_many(4)) engine.fail(job, Kind::rejected);
  CHECK(engine.service("dns").circuit == CircuitState::closed);
}

TEST_CASE("a provider that does not accept celld opens the circuit, and no attempt is counted") {
  Protected engine{{{}, policy}};
  const JobId job = engine.submit("a");
  engine.fail(job, Kind::unauthorized);
  CHECK(engine.service("dns").circuit == CircuitState::open);
  CHECK(engine.stored(job)->steps[0].attempts == 0);
  engine.pass(milliseconds{5000});
  REQUIRE(engine.call_of(job));
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("a provider that refuses calls without saying for how long opens the circuit") {
  Protected engine{{{}, policy}};
  const Ids jobs = engine.submit_many(2);
  for (const JobId job : jobs) engine.fail(job, Kind::throttled);
  CHECK(engine.service("dns").circuit == CircuitState::open);
  for (const JobId job : jobs) CHECK(engine.stored(job)->steps[0].attempts == 0);
}

TEST_CASE("what celld lacks itself is no failure of the provider, and counts as no attempt") {
  Protected engine{{{}, policy}};
  const Ids jobs = engine.submit_many(4);
  for (const JobId job : jobs) engine.fail(job, Kind::unable);
  CHECK(engine.service("dns").circuit == CircuitState::closed);
  for (const JobId job : jobs) {
    CHECK(engine.state(job) == JobState::retrying);
    CHECK(engine.stored(job)->steps[0].attempts == 0);
  }
  const auto held_until = engine.service("dns").paused_until;
  REQUIRE(held_until);
  CHECK(*held_until == engine.wall + milliseconds{1000});
}

TEST_CASE("without a circuit, a provider that does not accept celld is tried again") {
  Fixture engine{1};
  const JobId job = engine.submit("a");
  engine.end_call(job, outcome(Kind::unauthorized, "provider_error"));
  CHECK(engine.state(job) == JobState::retrying);
  CHECK(engine.stored(job)->steps[0].attempts == 1);
}

TEST_CASE("a timeout is a failure of the provider, a cancelled call is not") {
  Protected engine{{{}, policy}};
  const Ids jobs = engine.submit_many(4);
  engine.cancel(jobs[0]);
  engine.cancel(jobs[1]);
  CHECK(engine.service("dns").circuit == CircuitState::closed);
  engine.pass(milliseconds{1000});
  CHECK(engine.service("dns").circuit == CircuitState::open);
  CHECK(engine.service("dns").circuit_why ==
        "2 failures in a row; the last one: a call did not end in time");
}

TEST_CASE("a job behind an open circuit expires in time and can be cancelled") {
  Protected engine{{{}, policy}};
  for (const JobId job : engine.submit_many(2)) engine.fail(job);
  auto request = engine.request("brief");
  request.expires_at = engine.wall + milliseconds{2000};
  const JobId brief = engine.submit(std::move(request));
  const JobId cancelled = engine.submit("cancelled");
  CHECK(engine.cancel(cancelled).accepted);
  CHECK(engine.state(cancelled) == JobState::cancelled);
  engine.pass(milliseconds{2000});
  CHECK(engine.state(brief) == JobState::failed);
  CHECK(engine.stored(brief)->error->code == "expired");
}

TEST_CASE("an open circuit holds up no job of another service") {
  Protected engine{{{}, policy}, 1};
  for (const JobId job : engine.submit_many(2)) engine.fail(job);
  REQUIRE(engine.service("dns").circuit == CircuitState::open);
  for (int n = 0; n < 20; ++n) engine.submit("behind-" + std::to_string(n));
  const JobId other = engine.submit(engine.request("other", {"billing"}));
  CHECK(engine.call_of(other));
}

TEST_CASE("a pause that the provider asks for holds back its service alone") {
  Protected engine{{{}, policy}};
  const JobId job = engine.submit("a");
  engine.end_call(job, asking_for_pause(milliseconds{3000}));
  CHECK(engine.service("dns").paused_until == engine.wall + milliseconds{3000});
  const JobId held = engine.submit("b");
  const JobId other = engine.submit(engine.request("other", {"billing"}));
  CHECK(engine.call_of(other));
  engine.pass(milliseconds{2999});
  CHECK_FALSE(engine.call_of(held));
  engine.pass(milliseconds{1});
  CHECK(engine.call_of(held));
  CHECK(engine.stored(job)->steps[0].attempts <= 1);
}

TEST_CASE("calls after which the provider asks for a pause do not open the circuit") {
  Protected engine{{{}, policy}};
  const Ids jobs = engine.submit_many(2);
  for (const JobId job : jobs) engine.end_call(job, asking_for_pause(milliseconds{3000}));
  CHECK(engine.service("dns").circuit == CircuitState::closed);
}

// --- Workers outside -----------------------------------------------------------------------------

TEST_CASE("no more leases of a pull service are out than its limit allows") {
  Fixture engine{8};
  engine.protection["vm"] = {at_most(2), std::nullopt};
  engine.crash_and_restart();
  for (const auto* entity : {"a", "b", "c", "d"}) engine.submit(engine.request(entity, {"vm"}));
  const auto leases = engine.lease("host-1", 10);
  REQUIRE(leases.size() == 2);
  CHECK(engine.lease("host-2").empty());
  engine.wait_for_lease("host-2");
  CHECK(engine.granted().empty());
  CHECK(engine.end_lease(leases[0].job->lease, outcome(Kind::succeeded)));
  CHECK(engine.granted().size() == 1);
  engine.crash_and_restart();
  CHECK(engine.leases_out().size() == 2);
  CHECK(engine.lease("host-3").empty());
  CHECK(engine.end_lease(leases[1].job->lease, outcome(Kind::succeeded)));
  CHECK(engine.lease("host-3").size() == 1);
}

TEST_CASE("a lease counts under the limit although its dispatcher dies before it has granted it") {
  Fixture engine{2, true};
  engine.protection["vm"] = {at_most(1), std::nullopt};
  lose_a_grant(engine);
  REQUIRE(engine.leases_out().size() == 1);
  const auto lease = engine.leases_out()[0];
  CHECK(lease.job->spec->customer == "acme");
  CHECK(engine.end_lease(lease.job->lease, outcome(Kind::succeeded)));
  CHECK(engine.granted().size() == 1);
}

TEST_CASE("a lease counts against the rate although its dispatcher dies before it has granted it") {
  Fixture engine{2, true};
  engine.protection["vm"] = {{std::nullopt, 1, 1}, std::nullopt};
  lose_a_grant(engine);
  CHECK(engine.leases_out().size() == 1);
  CHECK(engine.granted().empty());
  for (int n = 0; n < 10; ++n) engine.pass(milliseconds{100});
  CHECK(engine.granted().size() == 1);
}

TEST_CASE("the customers of workers outside share a limit fairly although dispatchers die") {
  constexpr int turns_before = 20;
  Fixture engine{4};
  engine.protection["vm"] = {at_most(1), std::nullopt};
  engine.crash_and_restart();
  for (int n = 0; n < 50; ++n) {
    for (const auto* customer : {"acme", "bolt"}) {
      auto of = engine.request(std::to_string(n), {"vm"});
      of.spec.customer = customer;
      engine.submit(std::move(of));
    }
  }
  for (const auto* customer : {"acme", "bolt"}) engine.wait_for_lease("host-1", 1, customer);
  int of_acme = 0;
  for (int turn = 0; turn < turns_before + 20; ++turn) {
    const auto leases = engine.granted();
    REQUIRE(leases.size() == 1);
    const JobPtr job = leases[0].job;
    engine.wait_for_lease("host-1", 1, job->spec->customer);
    if (turn >= turns_before && job->spec->customer == "acme") {
      of_acme += 1;
      const auto dispatcher = engine.recorder->dispatchers.back();
      caf::anon_send_exit(caf::actor_cast<caf::strong_actor_ptr>(dispatcher),
                          caf::exit_reason::kill);
      engine.run_all();
    }
    engine.pass(milliseconds{500});
    REQUIRE(engine.end_lease(job->lease, outcome(Kind::succeeded)));
  }
  CHECK(of_acme >= 9);
}

TEST_CASE("leases of a pull service are granted at its limited rate") {
  Fixture engine{8};
  engine.protection["vm"] = {{std::nullopt, 10, 1}, std::nullopt};
  engine.crash_and_restart();
  for (const auto* entity : {"a", "b", "c"}) engine.submit(engine.request(entity, {"vm"}));
  CHECK(engine.lease("host-1", 10).size() == 1);
  CHECK(engine.lease("host-1").empty());
  engine.wait_for_lease("host-2");
  engine.pass(milliseconds{99});
  CHECK(engine.granted().empty());
  engine.pass(milliseconds{1});
  CHECK(engine.granted().size() == 1);
}

TEST_CASE("a reload changes the limit of a pull service") {
  Fixture engine{8};
  for (const auto* entity : {"a", "b", "c"}) engine.submit(engine.request(entity, {"vm"}));
  CHECK(engine.lease("host-1").size() == 1);
  CellRule rule;
  rule.settings.pool_size = 8;
  engine.protection["vm"] = {at_most(1), std::nullopt};
  engine.reconfigure({rule}, {"vm"});
  CHECK(engine.lease("host-1").empty());
  engine.wait_for_lease("host-2");
  engine.protection["vm"] = {at_most(2), std::nullopt};
  engine.reconfigure({rule}, {"vm"});
  CHECK(engine.granted().size() == 1);
  engine.wait_for_lease("host-3");
  engine.protection.clear();
  engine.reconfigure({rule}, {"vm"});
  CHECK(engine.granted().size() == 1);
}

TEST_CASE("a limit that a reload adds counts the leases of its own service alone") {
  Fixture engine{8};
  engine.pull_services.insert("gpu");
  engine.crash_and_restart();
  engine.submit(engine.request("a", {"gpu"}));
  engine.self()->send(engine.engine(), RequestLeases{1000, "gpu", "host-1", {}});
  engine.run_all();
  REQUIRE(engine.granted().size() == 1);
  engine.submit(engine.request("b", {"vm"}));
  CellRule rule;
  rule.settings.pool_size = 8;
  engine.protection["vm"] = {at_most(1), std::nullopt};
  engine.reconfigure({rule}, {"vm"});
  CHECK(engine.lease("host-2").size() == 1);
}
