#include "src/cli/batch_pace.hpp"

#include "tests/unit/catch.hpp"

using namespace celld::cli;
using namespace std::chrono_literals;

TEST_CASE("while the queue takes more lines after a longer pause, the pause doubles, up to 30 s") {
  BatchPace pace;
  CHECK(pace.next(100'000, 1s) == 1s);  // The queue was empty.
  CHECK(pace.next(1500, 1s) == 2s);
  CHECK(pace.next(3000, 1s) == 4s);
  CHECK(pace.next(5000, 1s) == 8s);
  CHECK(pace.next(10'000, 1s) == 16s);
  CHECK(pace.next(20'000, 1s) == 30s);
  CHECK(pace.next(45'000, 1s) == 30s);
}

TEST_CASE("a queue that runs empty in a longer pause gets the shorter one from then on") {
  BatchPace pace;
  CHECK(pace.next(100, 1s) == 1s);
  CHECK(pace.next(100, 1s) == 2s);
  CHECK(pace.next(100, 1s) == 1s);
  CHECK(pace.next(100, 1s) == 1s);
  CHECK(pace.next(500, 1s) == 1s);
}

TEST_CASE("no pause is shorter than celld asks for, and a long one has no lasting effect") {
  BatchPace pace;
  CHECK(pace.next(10, 1s) == 1s);
  CHECK(pace.next(10, 5s) == 5s);    // The pace is 2 s by now.
  CHECK(pace.next(10, 60s) == 60s);  // 2 lines a second instead of 10: back to 1 s.
  CHECK(pace.next(10, 1s) == 1s);
  CHECK(pace.next(0, 0s) == 1s);
}

TEST_CASE("the pause begins again from a shorter one that celld asks for") {
  BatchPace pace;
  CHECK(pace.next(20, 60s) == 60s);
  CHECK(pace.next(20, 1s) == 1s);
  CHECK(pace.next(20, 1s) == 2s);
}
