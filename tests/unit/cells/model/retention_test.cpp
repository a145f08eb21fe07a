#include "cells/model/retention.hpp"

#include "tests/unit/catch.hpp"

using namespace cells;  // NOLINT: tests of the model.

TEST_CASE("pruning keeps its slow pace as long as it keeps up") {
  PrunePace pace;
  for (int step = 0; step < 1000; ++step) {
    CHECK(pace.pause_after(milliseconds{1}, milliseconds{100'000 - step}) == milliseconds{128});
  }
}

TEST_CASE("pruning that falls behind gets faster, down to the shortest pause") {
  PrunePace pace;
  microseconds pause{};
  for (int step = 0; step < 65; ++step) {
    pause = pace.pause_after(milliseconds{1}, milliseconds{1000 + step});
    CHECK(pause == milliseconds{step < 64 ? 128 : 64});
  }
  for (int step = 65; step < 1000; ++step) {
    pause = pace.pause_after(milliseconds{1}, milliseconds{1000 + step});
  }
  CHECK(pause == milliseconds{4});
}

TEST_CASE("a busy store is pruned less often") {
  PrunePace pace;
  CHECK(pace.pause_after(milliseconds{400}, milliseconds{0}) == milliseconds{800});
}

TEST_CASE("the store is checked every tenth of the retention time, within bounds") {
  CHECK(pause_between_looks(milliseconds{10'000}) == milliseconds{1000});
  CHECK(pause_between_looks(milliseconds{1}) == milliseconds{100});
  CHECK(pause_between_looks(std::chrono::hours{24}) == std::chrono::minutes{1});
}
