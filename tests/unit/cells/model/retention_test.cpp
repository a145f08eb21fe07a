#include "cells/model/retention.hpp"

#include "tests/unit/catch.hpp"

using namespace cells;  // NOLINT: tests of the model.

TEST_CASE("pruning keeps its slow pace as long as it keeps up") {
  PrunePace pace{32};
  for (int step = 0; step < 1000; ++step) {
    CHECK(pace.pause_after(milliseconds{1}, milliseconds{100'000 - step}) == milliseconds{128});
  }
  CHECK(pace.step_jobs() == 32);
}

TEST_CASE("pruning that falls behind pauses for less, and then removes more at a time") {
  PrunePace pace{32};
  milliseconds behind{1000};
  const auto until_judged = [&] {
    auto pause = pace.pause_after(milliseconds{1}, ++behind);
    for (microseconds passed{}; passed < milliseconds{400}; passed += milliseconds{1} + pause) {
      pause = pace.pause_after(milliseconds{1}, ++behind);
    }
    return pause;
  };
  for (const int pause_ms : {64, 32, 16, 8, 4}) {
    CHECK(until_judged() == milliseconds{pause_ms});
    CHECK(pace.step_jobs() == 32);
  }
  for (const std::size_t jobs : {64, 128, 256, 256}) {
    CHECK(until_judged() == milliseconds{4});
    CHECK(pace.step_jobs() == jobs);
  }
  SECTION("it slows down by one grade whenever nothing is left") {
    for (const std::size_t jobs : {128, 64, 32, 32}) {
      pace.caught_up();
      CHECK(pace.step_jobs() == jobs);
    }
    for (const int pause_ms : {8, 16, 32, 64, 128, 128}) {
      CHECK(pace.pause_after(milliseconds{1}, milliseconds{0}) >= milliseconds{pause_ms});
      pace.caught_up();
    }
  }
}

TEST_CASE("pruning that gains nothing on what falls due pauses for less") {
  PrunePace pace{32};
  const auto pause = [&] { return pace.pause_after(milliseconds{1}, milliseconds{1000}); };
  for (int step = 0; step < 4; ++step) CHECK(pause() == milliseconds{128});
  CHECK(pause() == milliseconds{64});
}

TEST_CASE("a busy store is pruned less often") {
  PrunePace pace{32};
  CHECK(pace.pause_after(milliseconds{400}, milliseconds{0}) == milliseconds{800});
}

TEST_CASE("the store is checked every tenth of the retention time, within bounds") {
  CHECK(pause_between_looks(milliseconds{10'000}) == milliseconds{1000});
  CHECK(pause_between_looks(milliseconds{1}) == milliseconds{100});
  CHECK(pause_between_looks(std::chrono::hours{24}) == std::chrono::minutes{1});
}
