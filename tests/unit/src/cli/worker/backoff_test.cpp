#include "src/cli/worker/backoff.hpp"

#include "tests/unit/catch.hpp"

using namespace celld::cli;

TEST_CASE("pauses double up to a limit") {
  Backoff pauses(milliseconds(500), milliseconds(3000));
  for (const int expected : {500, 1000, 2000, 3000, 3000})
    CHECK(pauses.next(1.0) == milliseconds(expected));
  for (int i = 0; i < 100; ++i) CHECK(pauses.next(1.0) == milliseconds(3000));
  pauses.reset();
  CHECK(pauses.next(1.0) == milliseconds(500));
}

TEST_CASE("a pause is at least half of the whole") {
  Backoff pauses(milliseconds(500), milliseconds(3000));
  CHECK(pauses.next(0.0) == milliseconds(250));
  CHECK(pauses.next(0.5) == milliseconds(750));
}
