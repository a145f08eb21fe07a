#include "cells/model/rate_meter.hpp"

#include "tests/unit/catch.hpp"

using namespace cells;
using namespace std::chrono_literals;

namespace {

constexpr SteadyTime start{1000s};

}  // namespace

TEST_CASE("a meter that counted nothing reads 0") {
  RateMeter meter;
  CHECK(meter.per_second(SteadyTime{}) == 0);
  CHECK(meter.per_second(start) == 0);
}

TEST_CASE("a meter reads the mean of the last ten seconds") {
  RateMeter meter;
  meter.count(start);
  CHECK(meter.per_second(start) == Approx(0.1));
  meter.count(start + 5s, 19);
  CHECK(meter.per_second(start + 5s) == Approx(2));
}

TEST_CASE("a steady stream reads as its rate") {
  RateMeter meter;
  for (int ms = 0; ms < 60'000; ms += 20) meter.count(start + std::chrono::milliseconds{ms});
  CHECK(meter.per_second(start + 59'999ms) == Approx(50));
}

TEST_CASE("events older than ten seconds are forgotten, second by second") {
  RateMeter meter;
  meter.count(start, 10);
  meter.count(start + 1s, 20);
  CHECK(meter.per_second(start + 9'999ms) == Approx(3));
  CHECK(meter.per_second(start + 10s) == Approx(2));
  CHECK(meter.per_second(start + 11s) == 0);
}

TEST_CASE("a pause longer than the window forgets everything before it") {
  RateMeter meter;
  for (int s = 0; s < 10; ++s) meter.count(start + std::chrono::seconds{s}, 7);
  CHECK(meter.per_second(start + 1h) == 0);
  meter.count(start + 1h, 5);
  CHECK(meter.per_second(start + 1h) == Approx(0.5));
}

TEST_CASE("a bucket is emptied before it is used again") {
  RateMeter meter;
  meter.count(start, 100);
  meter.count(start + 9s, 1);
  meter.count(start + 10s, 1);  // Reuses the bucket of the hundred.
  CHECK(meter.per_second(start + 10s) == Approx(0.2));
}

TEST_CASE("the pace of a new stream is known before the window is full") {
  RateMeter meter;
  CHECK(meter.pace(start) == 0);
  meter.count(start);
  CHECK(meter.pace(start) == Approx(0.1));  // One event is no pace.
  for (int ms = 20; ms <= 2'000; ms += 20) meter.count(start + std::chrono::milliseconds{ms});
  CHECK(meter.pace(start + 2s) == Approx(50));
  CHECK(meter.per_second(start + 2s) == Approx(10.1));
  CHECK(meter.pace(start + 4s) == Approx(25));
}

TEST_CASE("many events at one moment count as spread over a second") {
  RateMeter meter;
  meter.count(start, 5);
  CHECK(meter.pace(start) == Approx(4));
}

TEST_CASE("in the long run the pace is the mean, and it starts afresh after a pause") {
  RateMeter meter;
  for (int s = 0; s < 30; ++s) meter.count(start + std::chrono::seconds{s}, 3);
  CHECK(meter.pace(start + 29s) == Approx(3));
  meter.count(start + 1h, 1);
  meter.count(start + 1h + 1s, 8);
  CHECK(meter.pace(start + 1h + 1s) == Approx(8));
}
