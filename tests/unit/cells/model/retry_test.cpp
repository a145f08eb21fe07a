#include "cells/model/retry.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"

using namespace model_test;

namespace {

const RetryPolicy policy{5, 1000ms, 60000ms};
const double almost_one = std::nextafter(1.0, 0.0);

milliseconds longest(std::uint32_t attempts) {
  return retry_delay(policy, attempts, almost_one, std::nullopt);
}

}  // namespace

TEST_CASE("the backoff doubles with each attempt up to its cap") {
  CHECK(longest(1) == 1s);
  CHECK(longest(2) == 2s);
  CHECK(longest(3) == 4s);
  CHECK(longest(6) == 32s);
  CHECK(longest(7) == 60s);
  CHECK(longest(8) == 60s);
}

TEST_CASE("attempts that are not counted are judged by the time that they took") {
  CHECK(attempts_within(policy, 0ms) == 1);
  CHECK(attempts_within(policy, 999ms) == 1);
  CHECK(attempts_within(policy, 1s) == 2);
  CHECK(attempts_within(policy, 4s) == 4);
  CHECK(attempts_within({5, 1ms, 60s}, 3ms) == 3);
  CHECK(longest(attempts_within(policy, 1h)) == 60s);
  CHECK(attempts_within(policy, -1h) == 1);
  CHECK(attempts_within({5, 0ms, 60s}, 1h) == 1);
  CHECK(attempts_within({5, 10s, 3s}, 1h) == 1);
}

TEST_CASE("the jitter picks a delay between zero and the backoff") {
  CHECK(retry_delay(policy, 3, 0, std::nullopt) == 0ms);
  CHECK(retry_delay(policy, 3, 0.25, std::nullopt) == 1000ms);
  CHECK(retry_delay(policy, 3, 0.5, std::nullopt) == 2000ms);
  for (int i = 0; i < 1000; ++i) {
    const milliseconds delay = retry_delay(policy, 3, i / 1000.0, std::nullopt);
    CHECK(delay >= 0ms);
    CHECK(delay <= 4s);
  }
}

TEST_CASE("no number of attempts overflows the backoff") {
  CHECK(longest(64) == 60s);
  CHECK(longest(1000) == 60s);
  CHECK(longest(std::numeric_limits<std::uint32_t>::max()) == 60s);
  const RetryPolicy long_policy{5, 1ms, std::chrono::hours{24 * 365}};
  CHECK(retry_delay(long_policy, std::numeric_limits<std::uint32_t>::max(), almost_one,
                    std::nullopt) == long_policy.backoff_max);
}

TEST_CASE("before any attempt the backoff is that of the first") {
  CHECK(longest(0) == 1s);
}

TEST_CASE("a backoff above its cap is the cap") {
  CHECK(retry_delay({5, 10s, 3s}, 1, almost_one, std::nullopt) == 3s);
  CHECK(retry_delay({5, 10s, 3s}, 9, almost_one, std::nullopt) == 3s);
}

TEST_CASE("a backoff of zero retries at once") {
  CHECK(retry_delay({5, 0ms, 0ms}, 1, almost_one, std::nullopt) == 0ms);
  CHECK(retry_delay({5, 0ms, 60s}, 20, almost_one, std::nullopt) == 0ms);
}

TEST_CASE("a provider's Retry-After is a lower bound") {
  CHECK(retry_delay(policy, 1, almost_one, 0ms) == 1s);
  CHECK(retry_delay(policy, 1, almost_one, 500ms) == 1s);
  CHECK(retry_delay(policy, 1, 0, 500ms) == 500ms);
  CHECK(retry_delay(policy, 1, almost_one, 90s) == 90s);
}

TEST_CASE("a provider's Retry-After is honoured up to ten times the cap") {
  CHECK(retry_delay(policy, 1, 0, 600s) == 600s);
  CHECK(retry_delay(policy, 1, 0, 601s) == 600s);
  CHECK(retry_delay(policy, 1, 0, milliseconds::max()) == 600s);
}

TEST_CASE("a negative Retry-After changes nothing") {
  CHECK(retry_delay(policy, 1, 0, -5s) == 0ms);
  CHECK(retry_delay(policy, 1, 0.5, milliseconds::min()) == 500ms);
}
