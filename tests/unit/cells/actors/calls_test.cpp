// When a call begins, and which call an abort ends.
#include "cells/actors/service_client.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

namespace {

/// Submits a job whose claim reaches the disk 100 ms from now. From here on every commit takes that
/// long.
JobId claim_slowly(Fixture& f) {
  auto request = f.request("a");
  request.delay = milliseconds{1000};
  const JobId id = f.submit(std::move(request));
  f.commit_delay = milliseconds{100};
  f.pass(milliseconds{1000});
  f.pass(milliseconds{100});  // The job is now stored as due.
  return id;
}

/// A service client with a provider that counts its calls.
class CountedCalls {
 public:
  explicit CountedCalls(Fixture& engine)
      : engine_(engine),
        client_(spawn_service_client(engine.system(), "dns", entry(), engine.recorder,
                                     [] { return WallTime{}; })) {}
  ~CountedCalls() {
    caf::anon_send_exit(client_, caf::exit_reason::user_shutdown);
    engine_.run_all();
  }
  CountedCalls(const CountedCalls&) = delete;
  CountedCalls& operator=(const CountedCalls&) = delete;

  void abort(Lease lease) {
    auto aborted = engine_.self()->request(client_, caf::infinite, AbortCall{lease});
    engine_.run_all();
    aborted.receive([&](const CallAborted& answer) { REQUIRE(answer.lease == lease); }, failed);
  }
  bool is_made(Lease lease) {
    const int before = count;
    auto ended = engine_.self()->request(client_, caf::infinite,
                                         StartCall{lease, nullptr, milliseconds{1000}});
    engine_.run_all();
    ended.receive(
        [&](const CallEnded& answer) {
          CHECK((answer.outcome.kind == CallOutcome::Kind::aborted) == (count == before));
        },
        failed);
    return count > before;
  }

  int count = 0;

 private:
  static void failed(const caf::error&) { FAIL("no answer"); }
  ServiceEntry entry() {
    ServiceEntry entry;
    entry.start_provider = [this](caf::actor_system& system) -> Provider {
      const auto counting = [](Provider::pointer, int* calls) -> Provider::behavior_type {
        return {[calls](const StartCall& call) {
                  *calls += 1;
                  return CallEnded{call.lease, {}};
                },
                [](const AbortCall& call) { return CallAborted{call.lease}; }};
      };
      return system.spawn(counting, &count);
    };
    return entry;
  }

  Fixture& engine_;
  ServiceClient client_;
};

}  // namespace

TEST_CASE("a call of a service with a settle time begins only after its claim is on disk") {
  Fixture f;
  f.settle_time = milliseconds{10'000};
  f.crash_and_restart();
  const JobId id = claim_slowly(f);
  REQUIRE(f.recorder->hand_outs.size() == 1);
  CHECK_FALSE(f.call_of(id));
  SECTION("so that it is not made again too early after a crash") {
    f.pass(milliseconds{100});
    REQUIRE(f.call_of(id));
    f.commit_delay = milliseconds{0};
    f.crash_and_restart();
    f.pass(milliseconds{9900});
    CHECK_FALSE(f.call_of(id));
    CHECK(f.stored(id)->interruptions == 1);
    f.pass(milliseconds{100});
    CHECK(f.call_of(id));
  }
  SECTION("and its timeout counts from then on") {
    f.pass(milliseconds{100});
    f.pass(milliseconds{999});
    CHECK(f.call_of(id));
    f.pass(milliseconds{1});
    CHECK_FALSE(f.call_of(id));
  }
  SECTION("and a worker that dies before that costs neither an attempt nor a wait") {
    caf::anon_send_exit(f.recorder->workers.back(), caf::exit_reason::kill);
    f.commit_delay = milliseconds{0};
    f.pass(milliseconds{100});
    REQUIRE(f.recorder->attempts.size() == 1);
    CHECK(f.recorder->attempts[0].kind == AttemptEnd::Kind::handed_back);
    CHECK(f.call_of(id));
  }
}

TEST_CASE("a call of a service without a settle time waits for no commit") {
  Fixture f;
  const JobId id = claim_slowly(f);
  CHECK(f.call_of(id));
}

TEST_CASE("a call for a job in memory waits for no commit, even with a settle time") {
  Fixture f;
  CellRule rule;
  rule.settings.pool_size = 1;
  rule.settings.durability = Durability::memory;
  f.configure({rule});
  f.settle_time = milliseconds{10'000};
  f.crash_and_restart();
  const JobId id = claim_slowly(f);
  CHECK(f.call_of(id));
}

TEST_CASE("a poll that never began leaves its operation time to settle") {
  Fixture f;
  f.settle_time = milliseconds{10'000};
  f.crash_and_restart();
  const JobId id = f.submit("a");
  auto begun = outcome(CallOutcome::Kind::pending);
  begun.operation = "op";
  begun.retry_after = milliseconds{1000};
  f.end_call(id, begun);
  f.commit_delay = milliseconds{100};
  f.pass(milliseconds{1000});
  for (int i = 0; i < 20 && f.recorder->hand_outs.size() < 2; ++i) f.pass(milliseconds{10});
  REQUIRE(f.recorder->hand_outs.size() == 2);
  REQUIRE_FALSE(f.call_of(id));
  caf::anon_send_exit(f.recorder->workers.back(), caf::exit_reason::kill);
  f.commit_delay = milliseconds{0};
  f.run_all();
  const WallTime ended = f.wall;
  for (int commit = 0; commit < 2; ++commit) f.pass(milliseconds{100});
  CHECK(f.state(id) == JobState::retrying);
  CHECK(f.stored(id)->next_attempt_at == ended + milliseconds{10'000});
}

TEST_CASE("a call that arrives after its abort was confirmed is not made") {
  Fixture engine;
  CountedCalls calls{engine};
  const Lease late{1, 7};
  calls.abort(late);
  CHECK_FALSE(calls.is_made(late));
  CHECK(calls.is_made({1, 8}));
  CHECK(calls.count == 1);
}

TEST_CASE("however many aborts were confirmed, the latest of these calls are not made") {
  Fixture engine;
  CountedCalls calls{engine};
  const std::uint64_t last = 10'100;
  for (std::uint64_t n = 1; n <= last; ++n) calls.abort({1, n});
  for (const auto n : {last, last - 1, last - 9999}) CHECK_FALSE(calls.is_made({1, n}));
  CHECK(calls.is_made({1, 1}));  // Forgotten.
}

TEST_CASE("a repeated abort ends no other call of the same worker") {
  Fixture engine{1};
  engine.calls->ignores_aborts = true;
  const JobId job = engine.submit("a");
  const JobId other = engine.submit("b");
  engine.cancel(job);
  engine.end_call(job, std::nullopt);  // While it is being aborted; the repeated abort ends it.
  CHECK(engine.state(job) == JobState::cancelled);
  engine.pass(milliseconds{10});
  REQUIRE(engine.call_of(other));
  CHECK(engine.call_of(other)->aborts.empty());
}
