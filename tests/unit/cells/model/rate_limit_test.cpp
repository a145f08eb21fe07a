#include "cells/model/rate_limit.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/unit/catch.hpp"

using namespace cells;
using namespace std::chrono_literals;

namespace {

constexpr SteadyTime start{1000s};

/// Takes one event at a time as soon as it may happen, until `end`.
std::vector<SteadyTime> events_until(RateLimit& limit, SteadyTime end) {
  std::vector<SteadyTime> events;
  for (SteadyTime now = start; now < end;) {
    if (limit.available(now) == 0) {
      now = limit.next(now);
      continue;
    }
    limit.take(1, now);
    events.push_back(now);
  }
  return events;
}

}  // namespace

TEST_CASE("a burst may happen at once, and then one event per interval") {
  RateLimit limit{10, 3};
  CHECK(limit.available(start) == 3);
  limit.take(3, start);
  CHECK(limit.available(start) == 0);
  CHECK(limit.next(start) == start + 100ms);
  CHECK(limit.available(start + 99ms) == 0);
  CHECK(limit.available(start + 100ms) == 1);
  CHECK(limit.available(start + 200ms) == 2);
}

TEST_CASE("a long pause permits no more than one burst") {
  RateLimit limit{10, 3};
  limit.take(3, start);
  CHECK(limit.available(start + 1h) == 3);
}

TEST_CASE("an event that may happen now is not due later") {
  RateLimit limit{1, 1};
  CHECK(limit.next(start) <= start);
  limit.take(1, start);
  CHECK(limit.next(start + 2s) <= start + 2s);
}

TEST_CASE("a rate below one in a second is kept") {
  RateLimit limit{0.001, 1};
  limit.take(1, start);
  CHECK(limit.available(start + 999s) == 0);
  CHECK(limit.available(start + 1000s) == 1);
}

TEST_CASE("no window of time has more events than the burst and the rate allow") {
  std::mt19937 random{7};
  for (int round = 0; round < 50; ++round) {
    const double rate = std::uniform_real_distribution<double>{0.5, 2000}(random);
    const auto burst = std::uniform_int_distribution<std::uint32_t>{1, 20}(random);
    RateLimit limit{rate, burst};
    const auto events = events_until(limit, start + 5s);
    CAPTURE(rate, burst);
    CHECK(static_cast<double>(events.size()) > rate * 4.9);
    for (std::size_t first = 0; first < std::min<std::size_t>(events.size(), 100); ++first) {
      for (std::size_t last = first; last < std::min<std::size_t>(events.size(), 100); ++last) {
        const double seconds = std::chrono::duration<double>(events[last] - events[first]).count();
        REQUIRE(static_cast<double>(last - first + 1) <= burst + rate * seconds + 1e-6);
      }
    }
  }
}
