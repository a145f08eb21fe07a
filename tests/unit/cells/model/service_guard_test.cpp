#include "cells/model/service_guard.hpp"

#include "tests/unit/catch.hpp"

using namespace cells;
using namespace std::chrono_literals;

namespace {

constexpr WallTime day{std::chrono::hours{24 * 20'000}};
constexpr SteadyTime start{1000s};

Now at(milliseconds time) {
  return {start + time, day + time};
}

Lease lease(std::uint64_t number) {
  return {1, number};
}

const ProviderSign failing{CallSign::failing, std::nullopt, "no answer"};
const ProviderSign alive{CallSign::alive, std::nullopt, ""};

ProviderSign pause_of(milliseconds pause) {
  return {CallSign::nothing, pause, "HTTP status 429"};
}

/// The attempt of the lease ends.
void end(ServiceGuard& guard, std::uint64_t number, const ProviderSign& sign, milliseconds time) {
  guard.ended(lease(number), sign, 0ms, at(time));
  guard.release(lease(number));
}

Protection concurrency(std::uint32_t max) {
  return {{max, std::nullopt, 1}, std::nullopt};
}

Protection circuit(std::uint32_t failures) {
  return {{}, CircuitPolicy{failures, 30s, 500ms, 2s}};
}

}  // namespace

TEST_CASE("at most so many permits are available at once, whatever the limits allow") {
  const ServiceGuard guard{{}, 3};
  CHECK(guard.available(start) == 3);
}

TEST_CASE("permits are out until their attempts are over") {
  ServiceGuard guard{concurrency(2)};
  CHECK(guard.available(start) == 2);
  guard.take(lease(1), false, start);
  guard.take(lease(2), false, start);
  CHECK(guard.available(start) == 0);
  CHECK_FALSE(guard.next_change(start));
  guard.ended(lease(1), alive, 0ms, at(1ms));
  CHECK(guard.available(start) == 0);
  guard.release(lease(1));
  CHECK(guard.available(start) == 1);
  guard.release(lease(1));
  CHECK(guard.available(start) == 1);
}

TEST_CASE("calls that began without a permit count") {
  ServiceGuard guard{concurrency(2)};
  guard.count(lease(1));
  guard.count(lease(2));
  guard.count(lease(3));
  CHECK(guard.available(start) == 0);
  guard.release(lease(1));
  CHECK(guard.available(start) == 0);
  guard.release(lease(2));
  CHECK(guard.available(start) == 1);
}

TEST_CASE("the stricter limit holds") {
  ServiceGuard guard{{{3, 10, 2}, std::nullopt}};
  CHECK(guard.available(start) == 2);
  guard.take(lease(1), false, start);
  guard.take(lease(2), false, start);
  CHECK(guard.available(start) == 0);
  CHECK(guard.next_change(start) == start + 100ms);
  CHECK(guard.available(start + 10s) == 1);
}

TEST_CASE("an open circuit gives no permit, a half-open one a single probe") {
  ServiceGuard guard{circuit(1)};
  guard.take(lease(1), false, start);
  guard.take(lease(2), false, start);
  end(guard, 1, failing, 0ms);
  CHECK(guard.available(start + 499ms) == 0);
  CHECK(guard.next_change(start) == start + 500ms);
  CHECK_FALSE(guard.probes(start + 499ms));
  CHECK(guard.probes(start + 500ms));
  CHECK(guard.available(start + 500ms) == 1);
  guard.take(lease(3), true, start + 500ms);
  CHECK(guard.available(start + 600ms) == 0);
  SECTION("an older call that ends decides nothing") {
    end(guard, 2, alive, 600ms);
    CHECK(guard.circuit(start + 600ms) == CircuitState::half_open);
    CHECK(guard.available(start + 600ms) == 0);
  }
  SECTION("a probe that was aborted makes room for the next") {
    end(guard, 3, {}, 600ms);
    CHECK(guard.available(start + 600ms) == 1);
  }
  SECTION("a probe that succeeds ends it") {
    end(guard, 3, alive, 600ms);
    CHECK(guard.available(start + 600ms) > 1);
  }
}

TEST_CASE("a pause that the provider asked for holds back every call, up to a bound") {
  ServiceGuard guard{circuit(5)};
  guard.take(lease(1), false, start);
  SECTION("as long as asked") {
    end(guard, 1, pause_of(300ms), 0ms);
    CHECK(guard.available(start + 299ms) == 0);
    CHECK(guard.paused_until(start) == start + 300ms);
    CHECK(guard.next_change(start) == start + 300ms);
    CHECK(guard.available(start + 300ms) > 0);
    CHECK_FALSE(guard.paused_until(start + 300ms));
  }
  SECTION("the longest of several") {
    guard.take(lease(2), false, start);
    end(guard, 1, pause_of(300ms), 0ms);
    end(guard, 2, pause_of(100ms), 10ms);
    CHECK(guard.paused_until(start) == start + 300ms);
  }
  SECTION("at most hold_max") {
    end(guard, 1, pause_of(1h), 0ms);
    CHECK(guard.paused_until(start) == start + 2s);
  }
  SECTION("until a reset") {
    end(guard, 1, pause_of(1h), 0ms);
    guard.reset(day);
    CHECK(guard.available(start) > 0);
  }
}

TEST_CASE("limits alone honour a pause, too") {
  ServiceGuard guard{concurrency(2)};
  guard.take(lease(1), false, start);
  end(guard, 1, pause_of(2h), 0ms);
  CHECK(guard.paused_until(start) == start + 60s);
}

TEST_CASE("what a call without a permit says is ignored") {
  ServiceGuard guard{circuit(1)};
  end(guard, 1, failing, 0ms);
  CHECK(guard.circuit(start) == CircuitState::closed);
}

TEST_CASE("other limits keep the permits that are out and the rate") {
  ServiceGuard guard{{{4, 10, 2}, std::nullopt}};
  guard.take(lease(1), false, start);
  guard.take(lease(2), false, start);
  guard.change({{1, 10, 2}, std::nullopt});
  CHECK(guard.available(start + 10s) == 0);
  guard.release(lease(1));
  guard.release(lease(2));
  CHECK(guard.available(start + 1ms) == 0);  // The rate went on.
  CHECK(guard.available(start + 10s) == 1);
}

TEST_CASE("a burst that alone changes holds at once") {
  ServiceGuard guard{{{std::nullopt, 10, 2}, std::nullopt}};
  guard.change({{std::nullopt, 10, 3}, std::nullopt});
  CHECK(guard.available(start) == 3);
}

TEST_CASE("a rate that is removed limits nothing any more") {
  ServiceGuard guard{{{2, 10, 1}, std::nullopt}};
  guard.take(lease(1), false, start);
  guard.change(concurrency(2));
  CHECK(guard.available(start) == 1);
}

TEST_CASE("a circuit that is removed while it is open holds back no call") {
  ServiceGuard guard{{{2, std::nullopt, 1}, CircuitPolicy{1, 30s, 500ms, 2s}}};
  guard.take(lease(1), false, start);
  end(guard, 1, failing, 0ms);
  guard.change(concurrency(2));
  CHECK(guard.circuit(start) == CircuitState::closed);
  CHECK(guard.available(start) == 2);
}

TEST_CASE("a pause ends with the protection") {
  ServiceGuard guard{concurrency(1)};
  guard.take(lease(1), false, start);
  end(guard, 1, pause_of(1h), 0ms);
  guard.change({});
  CHECK_FALSE(guard.paused_until(start));
  guard.change(concurrency(1));
  CHECK(guard.available(start) == 1);
}

TEST_CASE("a pause goes on under other limits") {
  ServiceGuard guard{concurrency(2)};
  guard.take(lease(1), false, start);
  end(guard, 1, pause_of(300ms), 0ms);
  guard.change(concurrency(3));
  CHECK(guard.paused_until(start) == start + 300ms);
}

TEST_CASE("a probe is the only one although the circuit's policy changes meanwhile") {
  ServiceGuard guard{circuit(1)};
  guard.take(lease(1), false, start);
  end(guard, 1, failing, 0ms);
  guard.take(lease(2), true, start + 500ms);
  guard.change(circuit(2));
  CHECK(guard.available(start + 600ms) == 0);
  end(guard, 2, alive, 600ms);
  CHECK(guard.circuit(start + 600ms) == CircuitState::closed);
}

TEST_CASE("without protection, nothing is counted") {
  ServiceGuard guard{concurrency(1)};
  guard.take(lease(1), false, start);
  guard.change({});
  CHECK_FALSE(guard.protects());
  guard.take(lease(2), false, start);
  CHECK(guard.out() == 0);
  guard.change(concurrency(1));
  CHECK(guard.available(start) == 1);
}
