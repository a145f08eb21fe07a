#include "cells/model/circuit_breaker.hpp"

#include "tests/unit/catch.hpp"

using namespace cells;
using namespace std::chrono_literals;

namespace {

constexpr WallTime day{std::chrono::hours{24 * 20'000}};
constexpr SteadyTime start{1000s};
constexpr CircuitPolicy policy{3, 1000ms, 500ms, 60s};

Now at(milliseconds time) {
  return {start + time, day + time};
}

struct Circuit {
  CircuitBreaker breaker{policy};

  void end(CallSign sign, milliseconds time, bool is_probe = false) {
    breaker.ended(sign, is_probe, "HTTP status 500", 0ms, at(time));
  }
  void time_out(milliseconds began, milliseconds time) {
    breaker.ended(CallSign::failing, false, "no answer", time - began, at(time));
  }
  CircuitState state(milliseconds time) const { return breaker.state(start + time); }
  void open_at(milliseconds time) {
    for (int i = 0; i < 3; ++i) end(CallSign::failing, time);
  }
};

}  // namespace

TEST_CASE("a circuit opens at the last of so many failures in a row") {
  Circuit circuit;
  circuit.end(CallSign::failing, 0ms);
  circuit.end(CallSign::failing, 1ms);
  CHECK(circuit.state(1ms) == CircuitState::closed);
  CHECK_FALSE(circuit.breaker.since());
  circuit.end(CallSign::failing, 2ms);
  CHECK(circuit.state(2ms) == CircuitState::open);
  CHECK(circuit.breaker.since() == day + 2ms);
  CHECK(circuit.breaker.why() == "3 failures in a row; the last one: HTTP status 500");
}

TEST_CASE("a call that shows the provider alive begins the count again") {
  Circuit circuit;
  circuit.end(CallSign::failing, 0ms);
  circuit.end(CallSign::failing, 1ms);
  circuit.end(CallSign::alive, 2ms);
  circuit.end(CallSign::failing, 3ms);
  circuit.end(CallSign::nothing, 4ms);
  circuit.end(CallSign::failing, 5ms);
  CHECK(circuit.state(5ms) == CircuitState::closed);
  circuit.end(CallSign::failing, 6ms);
  CHECK(circuit.state(6ms) == CircuitState::open);
}

TEST_CASE("failures that lie further apart than the window do not open a circuit") {
  Circuit circuit;
  circuit.end(CallSign::failing, 0ms);
  circuit.end(CallSign::failing, 10ms);
  circuit.end(CallSign::failing, 1001ms);
  CHECK(circuit.state(1001ms) == CircuitState::closed);
  circuit.end(CallSign::failing, 1010ms);
  CHECK(circuit.state(1010ms) == CircuitState::open);
}

TEST_CASE("calls that time out one after the other open a circuit, however long they take") {
  Circuit circuit;
  circuit.time_out(0ms, 5000ms);
  circuit.time_out(5500ms, 10'500ms);
  CHECK(circuit.state(10'500ms) == CircuitState::closed);
  SECTION("if no more than the window lies between them") {
    circuit.time_out(11'000ms, 16'000ms);
    CHECK(circuit.state(16'000ms) == CircuitState::open);
  }
  SECTION("but not if more than the window does") {
    circuit.time_out(11'001ms, 16'001ms);
    CHECK(circuit.state(16'001ms) == CircuitState::closed);
    circuit.time_out(16'400ms, 21'000ms);
    CHECK(circuit.state(21'000ms) == CircuitState::open);
  }
}

TEST_CASE("a failing call covers the time between failures that end before it") {
  Circuit circuit;
  circuit.time_out(0ms, 10ms);
  circuit.time_out(5000ms, 5010ms);
  SECTION("for as long as it ran") {
    circuit.time_out(1000ms, 9000ms);
    CHECK(circuit.state(9000ms) == CircuitState::open);
  }
  SECTION("and no longer") {
    circuit.time_out(1011ms, 9000ms);
    CHECK(circuit.state(9000ms) == CircuitState::closed);
  }
}

TEST_CASE("calls that time out at the same time open a circuit") {
  Circuit circuit;
  circuit.time_out(0ms, 5000ms);
  circuit.time_out(0ms, 5000ms);
  circuit.time_out(4000ms, 9000ms);
  CHECK(circuit.state(9000ms) == CircuitState::open);
}

TEST_CASE("an open circuit is half-open after its time, and one probe decides") {
  Circuit circuit;
  circuit.open_at(0ms);
  CHECK(circuit.breaker.next_change() == start + 500ms);
  CHECK(circuit.state(499ms) == CircuitState::open);
  CHECK(circuit.state(500ms) == CircuitState::half_open);
  SECTION("it closes") {
    circuit.end(CallSign::alive, 600ms, true);
    CHECK(circuit.state(600ms) == CircuitState::closed);
    CHECK(circuit.breaker.since() == day + 600ms);
    CHECK(circuit.breaker.why().empty());
    circuit.end(CallSign::failing, 601ms);
    CHECK(circuit.state(601ms) == CircuitState::closed);
  }
  SECTION("it opens again, and has been open since the first time") {
    circuit.end(CallSign::failing, 600ms, true);
    CHECK(circuit.state(1099ms) == CircuitState::open);
    CHECK(circuit.state(1100ms) == CircuitState::half_open);
    CHECK(circuit.breaker.since() == day);
    CHECK(circuit.breaker.why() == "the probe failed: HTTP status 500");
  }
  SECTION("an aborted probe decides nothing") {
    circuit.end(CallSign::nothing, 600ms, true);
    CHECK(circuit.state(600ms) == CircuitState::half_open);
  }
}

TEST_CASE("a call that began before the circuit opened decides nothing") {
  Circuit circuit;
  circuit.open_at(0ms);
  circuit.end(CallSign::alive, 100ms);
  CHECK(circuit.state(100ms) == CircuitState::open);
  circuit.end(CallSign::failing, 600ms);
  CHECK(circuit.state(600ms) == CircuitState::half_open);
}

TEST_CASE("a provider that refuses celld opens the circuit at once") {
  Circuit circuit;
  circuit.end(CallSign::refusing, 5ms);
  CHECK(circuit.state(5ms) == CircuitState::open);
  CHECK(circuit.breaker.why() == "HTTP status 500");
}

TEST_CASE("a reset closes a circuit and forgets the failures") {
  Circuit circuit;
  circuit.open_at(0ms);
  circuit.breaker.reset(day + 7ms);
  CHECK(circuit.state(7ms) == CircuitState::closed);
  CHECK(circuit.breaker.since() == day + 7ms);
  circuit.end(CallSign::failing, 8ms);
  circuit.end(CallSign::failing, 8ms);
  CHECK(circuit.state(8ms) == CircuitState::closed);
  circuit.breaker.reset(day + 9ms);  // Of a closed circuit: not a change.
  CHECK(circuit.breaker.since() == day + 7ms);
}

TEST_CASE("another policy says for how long an open circuit stays open") {
  Circuit circuit;
  circuit.open_at(0ms);
  circuit.breaker.change({2, 1000ms, 200ms, 60s});
  CHECK(circuit.state(199ms) == CircuitState::open);
  CHECK(circuit.state(200ms) == CircuitState::half_open);
  CHECK(circuit.breaker.next_change() == start + 200ms);
  circuit.breaker.change({2, 1000ms, 900ms, 60s});
  CHECK(circuit.state(899ms) == CircuitState::open);
  CHECK(circuit.breaker.next_change() == start + 900ms);
}

TEST_CASE("a policy of fewer failures counts the latest") {
  Circuit circuit;
  circuit.breaker.change({5, 1000ms, 500ms, 60s});
  for (const auto at : {0ms, 1200ms, 2400ms}) circuit.end(CallSign::failing, at);
  circuit.breaker.change({2, 1000ms, 500ms, 60s});
  circuit.end(CallSign::failing, 2450ms);
  CHECK(circuit.state(2450ms) == CircuitState::open);
}

TEST_CASE("another policy counts the failures so far") {
  Circuit circuit;
  circuit.end(CallSign::failing, 0ms);
  circuit.breaker.change({2, 1000ms, 500ms, 60s});
  circuit.end(CallSign::failing, 1ms);
  CHECK(circuit.state(1ms) == CircuitState::open);
}
