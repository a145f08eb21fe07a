// Outages of a service, as its calls show them.
#include "src/providers/http/outage.hpp"

#include "tests/unit/catch.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;
using cells::CallOutcome;
using cells::SteadyTime;
using Kind = CallOutcome::Kind;

constexpr SteadyTime start{1000s};

CallOutcome outcome_of(Kind kind) {
  CallOutcome outcome;
  outcome.kind = kind;
  return outcome;
}

}  // namespace

TEST_CASE("a service can be called from the start of celld on") {
  const Outages outages(start);
  CHECK(outages.callable_within(start + 1s, start + 4s) == 3s);
  CHECK(outages.callable_within(start - 1h, start + 4s) == 4s);
  CHECK(outages.callable_within(start + 4s, start + 1s) == 0s);
  CHECK(outages.callable_within(start - 4s, start - 1s) == 0s);
}

TEST_CASE("an outage lasts from the first call that failed to one that did not") {
  for (const auto kind : {Kind::retryable, Kind::unknown, Kind::unauthorized, Kind::throttled}) {
    Outages outages(start);
    outages.call_ended(outcome_of(kind), start + 10s);
    outages.call_ended(outcome_of(kind), start + 12s);
    CHECK(outages.callable_within(start + 9s, start + 20s) == 1s);
    CHECK(outages.callable_within(start + 11s, start + 20s) == 0s);
    outages.call_ended(outcome_of(GENERATE(Kind::aborted, Kind::unable)), start + 14s);
    outages.call_ended(outcome_of(Kind::pending), start + 15s);
    outages.call_succeeded(start + 16s);
    CHECK(outages.callable_within(start + 9s, start + 20s) == 6s);
    CHECK(outages.callable_within(start + 11s, start + 14s) == 0s);
    CHECK(outages.callable_within(start + 16s, start + 20s) == 4s);
    outages.call_ended(outcome_of(kind), start + 30s);
    CHECK(outages.callable_within(start + 9s, start + 40s) == 21s);
  }
  for (const auto kind : {Kind::succeeded, Kind::rejected, Kind::pending}) {
    Outages outages(start);
    outages.call_ended(outcome_of(kind), start + 10s);
    CHECK(outages.callable_within(start + 9s, start + 20s) == 11s);
    outages.call_ended(outcome_of(Kind::retryable), start + 20s);
    outages.call_ended(outcome_of(kind), start + 21s);
    CHECK(outages.callable_within(start + 20s, start + 22s) == 1s);
  }
}

TEST_CASE("a pause that the provider asked for is part of an outage") {
  Outages outages(start);
  auto pause = outcome_of(Kind::throttled);
  pause.pauses_service = true;
  pause.retry_after = 10s;
  outages.call_ended(pause, start);
  outages.call_succeeded(start + 1s);  // It was in flight.
  CHECK(outages.callable_within(start, start + 9s) == 0s);
  CHECK(outages.callable_within(start, start + 15s) == 5s);
  outages.call_ended(outcome_of(Kind::retryable), start + 5s);
  outages.call_succeeded(start + 6s);
  CHECK(outages.callable_within(start, start + 15s) == 5s);
}

TEST_CASE("a pause that goes on takes nothing from the time before it") {
  Outages outages(start);
  auto pause = outcome_of(Kind::throttled);
  pause.pauses_service = true;
  pause.retry_after = 60s;
  outages.call_ended(pause, start + 10s);
  CHECK(outages.callable_within(start + 5s, start + 15s) == 5s);
}

TEST_CASE("a wait that is asked for one call alone is no pause of the service") {
  Outages outages(start);
  auto busy = outcome_of(Kind::retryable);
  busy.retry_after = 10s;
  outages.call_ended(busy, start);
  outages.call_succeeded(start + 1s);
  CHECK(outages.callable_within(start, start + 15s) == 14s);
}

TEST_CASE("of the pauses that the provider asked for, the one that ends last counts") {
  const auto pause = [](Kind kind, cells::milliseconds length) {
    auto outcome = outcome_of(kind);
    outcome.pauses_service = true;
    outcome.retry_after = length;
    return outcome;
  };
  Outages outages(start);
  outages.call_ended(pause(Kind::throttled, 60s), start);
  outages.call_ended(pause(Kind::retryable, 1s), start + 1s);  // It was in flight.
  outages.call_succeeded(start + 2s);                          // So was this one.
  CHECK(outages.callable_within(start, start + 59s) == 0s);
  CHECK(outages.callable_within(start, start + 70s) == 10s);
  outages.call_ended(pause(Kind::retryable, 60s), start + 3s);
  outages.call_succeeded(start + 4s);
  CHECK(outages.callable_within(start, start + 70s) == 7s);
}

}  // namespace celld::providers
