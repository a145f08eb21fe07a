// The actor of a `simulated` service, in virtual time.
#include "src/providers/simulated/provider.hpp"

#include <caf/scheduler/test_coordinator.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/providers/call_fixture.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;
using cells::CallEnded;
using cells::CallOutcome;
using cells::Lease;
using cells::milliseconds;
using test::make_call;
using test::make_job;
using Kind = CallOutcome::Kind;

SimulatedService service_of(milliseconds min, milliseconds max, double failure_rate = 0) {
  return {min, max, failure_rate, 1};
}

/// Confirms at once: no transport has a call.
void nothing_left(const Lease&, const std::function<void()>& gone) {
  gone();
}

/// One provider under a scheduler that runs only on request.
class Simulation {
 public:
  explicit Simulation(SimulatedService service)
      : system_(config_.set("scheduler.policy", caf::atom("testing"))),
        scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())),
        provider(spawn_simulated_provider(system_, "demo", service, nothing_left)),
        self_(system_) {
    scheduler_.run();
  }
  ~Simulation() {
    caf::anon_send_exit(provider, caf::exit_reason::kill);
    scheduler_.run();
  }

  void start(std::uint64_t counter, cells::JobPtr job, milliseconds timeout = 10'000ms) {
    self_->send(provider, make_call({1, counter}, std::move(job), timeout));
    scheduler_.run();
  }
  void abort(std::uint64_t counter) {
    self_->send(provider, cells::AbortCall{{1, counter}});
    scheduler_.run();
  }
  void advance(caf::timespan time) {
    scheduler_.advance_time(time);
    scheduler_.run();
  }
  std::size_t timers() { return scheduler_.clock().schedule().size(); }

  /// The answers since the last call of this function.
  std::vector<CallEnded> ended() {
    std::vector<CallEnded> all;
    bool more = true;
    while (more) {
      self_->receive([&](const CallEnded& each) { all.push_back(each); },
                     [&](const cells::CallAborted& each) { aborted.push_back(each.lease); },
                     caf::after(0s) >> [&] { more = false; });
    }
    return all;
  }
  std::vector<Lease> aborted;

 private:
  caf::actor_system_config config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;

 public:
  cells::Provider provider;

 private:
  caf::scoped_actor self_;
};

}  // namespace

TEST_CASE("a fate depends on seed, job, step and attempt alone") {
  const auto service = service_of(0ms, 1000ms, 0.5);
  const auto fate = simulate(service, *make_job(7, {"a", "b"}, 1, 2));
  CHECK(simulate(service, *make_job(7, {"a", "b"}, 1, 2)) == fate);
  CHECK_FALSE(simulate(service, *make_job(8, {"a", "b"}, 1, 2)) == fate);
  CHECK_FALSE(simulate(service, *make_job(7, {"a", "b"}, 0, 2)) == fate);
  CHECK_FALSE(simulate(service, *make_job(7, {"a", "b"}, 1, 3)) == fate);
  auto reseeded = service;
  reseeded.seed = 2;
  CHECK_FALSE(simulate(reseeded, *make_job(7, {"a", "b"}, 1, 2)) == fate);
}

TEST_CASE("latencies and failures are distributed as configured") {
  const auto service = service_of(10ms, 20ms, 0.25);
  constexpr int count = 10'000;
  int failures = 0;
  double sum_ms = 0;
  for (cells::JobId id = 1; id <= count; ++id) {
    const auto fate = simulate(service, *make_job(id, {"a"}));
    REQUIRE(fate.latency >= 10ms);
    REQUIRE(fate.latency <= 20ms);
    sum_ms += static_cast<double>(fate.latency.count()) / 1000;
    failures += fate.fails ? 1 : 0;
  }
  CHECK(sum_ms / count == Approx(15).epsilon(0.02));
  CHECK(failures / double{count} == Approx(0.25).epsilon(0.1));
}

TEST_CASE("a failure rate of 0 never fails, and 1 always does") {
  for (cells::JobId id = 1; id <= 1000; ++id) {
    CHECK_FALSE(simulate(service_of(0ms, 0ms, 0), *make_job(id, {"a"})).fails);
    CHECK(simulate(service_of(0ms, 0ms, 1), *make_job(id, {"a"})).fails);
  }
}

TEST_CASE("an undo fails at a rate of its own") {
  auto service = service_of(0ms, 0ms, 0);
  service.undo_failure_rate = 1;
  const auto job = make_job(1, {"a"});
  CHECK_FALSE(simulate(service, *job).fails);
  job->error = cells::JobError{};
  job->state = cells::JobState::running;
  CHECK(simulate(service, *job).fails);
}

TEST_CASE("a call without latency is answered at once and without a timer") {
  Simulation simulation(service_of(0ms, 0ms));
  simulation.start(1, make_job(1, {"demo"}));
  CHECK(simulation.timers() == 0);
  const auto ended = simulation.ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].lease == Lease{1, 1});
  CHECK(ended[0].outcome.kind == Kind::succeeded);
  CHECK(ended[0].outcome.properties == cells::Properties{{"demo", R"({"simulated":true})"}});
}

TEST_CASE("a simulated failure is retryable") {
  Simulation simulation(service_of(0ms, 0ms, 1));
  simulation.start(1, make_job(1, {"demo"}));
  const auto ended = simulation.ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].outcome.kind == Kind::retryable);
  CHECK(ended[0].outcome.code == "provider_error");
  CHECK_FALSE(ended[0].outcome.message.empty());
}

TEST_CASE("each call takes its latency, and few timers serve them all") {
  const auto service = service_of(1ms, 1000ms);
  Simulation simulation(service);
  constexpr std::uint64_t count = 500;
  for (std::uint64_t i = 1; i <= count; ++i) simulation.start(i, make_job(i, {"demo"}));
  CHECK(simulation.timers() < 20);
  std::set<std::uint64_t> seen;
  for (auto now = 10ms; now <= 1000ms; now += 10ms) {
    simulation.advance(10ms);
    for (const auto& ended : simulation.ended()) {
      const auto latency = simulate(service, *make_job(ended.lease.counter, {"demo"})).latency;
      CHECK(latency <= now);
      CHECK(latency > now - 10ms);
      CHECK(seen.insert(ended.lease.counter).second);
    }
    CHECK(simulation.timers() < 20);
  }
  CHECK(seen.size() == count);
}

TEST_CASE("a timer that finds nothing due sets no other") {
  Simulation simulation(service_of(1000ms, 1000ms));
  simulation.start(1, make_job(1, {"demo"}), 20ms);
  simulation.start(2, make_job(2, {"demo"}), 10ms);
  simulation.advance(10ms);
  CHECK(simulation.timers() == 2);  // Both for the first call.
  simulation.start(3, make_job(3, {"demo"}), 90ms);
  simulation.advance(10ms);
  CHECK(simulation.timers() == 1);
  CHECK(simulation.ended().size() == 2);
}

TEST_CASE("a latency beyond the timeout ends as unknown at the timeout") {
  Simulation simulation(service_of(500ms, 500ms));
  simulation.start(1, make_job(1, {"demo"}), 200ms);
  simulation.advance(199ms);
  CHECK(simulation.ended().empty());
  simulation.advance(1ms);
  const auto ended = simulation.ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].outcome.kind == Kind::unknown);
  CHECK(ended[0].outcome.code == "timeout");
}

TEST_CASE("an abort ends the simulated call at once, and only that one") {
  Simulation simulation(service_of(500ms, 500ms));
  simulation.start(1, make_job(1, {"demo"}));
  simulation.start(2, make_job(2, {"demo"}));
  simulation.abort(1);
  auto ended = simulation.ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].lease == Lease{1, 1});
  CHECK(ended[0].outcome.kind == Kind::aborted);
  CHECK(simulation.aborted == std::vector<Lease>{{1, 1}});
  simulation.abort(1);
  simulation.advance(500ms);
  ended = simulation.ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].lease == Lease{1, 2});
  CHECK(simulation.aborted == std::vector<Lease>{{1, 1}, {1, 1}});
}

TEST_CASE("a lease has one simulated call at a time") {
  Simulation simulation(service_of(500ms, 500ms));
  simulation.start(1, make_job(1, {"demo"}));
  simulation.start(1, make_job(1, {"demo"}));
  auto ended = simulation.ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].outcome.kind == Kind::aborted);
  simulation.advance(500ms);
  ended = simulation.ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].outcome.kind == Kind::succeeded);
}

TEST_CASE("a simulated provider that dies fails pending requests") {
  caf::actor_system_config config;
  caf::actor_system system(config);
  const auto provider =
      spawn_simulated_provider(system, "demo", service_of(60'000ms, 60'000ms), nothing_left);
  caf::scoped_actor self(system);
  auto call = self->request(provider, 20s, make_call({1, 1}, make_job(1, {"demo"}), 90'000ms));
  self->send_exit(provider, caf::exit_reason::kill);
  call.receive([](const CallEnded&) { FAIL("an outcome without knowledge of the call's end"); },
               [](const caf::error& error) { CHECK(error == caf::sec::request_receiver_down); });
}

}  // namespace celld::providers
