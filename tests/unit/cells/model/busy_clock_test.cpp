#include "cells/model/busy_clock.hpp"

#include "tests/unit/catch.hpp"

using namespace cells;
using namespace std::chrono_literals;

namespace {

constexpr SteadyTime start{1000s};
constexpr std::uint64_t jobs_max = 3;

JobCounts counts(std::uint64_t queued, std::uint64_t scheduled) {
  JobCounts jobs;
  jobs[JobState::queued] = queued;
  jobs[JobState::scheduled] = scheduled;
  return jobs;
}

}  // namespace

TEST_CASE("the clock of a busy cell goes like any other") {
  BusyClock clock;
  CHECK(clock.at(start) == start);
  clock.count(counts(1, 0), jobs_max, start);
  CHECK(clock.at(start + 1h) == start + 1h);
}

TEST_CASE("the clock of a cell that has nothing to run stands still") {
  BusyClock clock;
  clock.count(counts(0, 0), jobs_max, start);
  CHECK(clock.at(start + 1h) == start);
  clock.count(counts(0, 2), jobs_max, start + 1h);
  CHECK(clock.at(start + 2h) == start);
  clock.count(counts(1, 2), jobs_max, start + 2h);
  CHECK(clock.at(start + 2h + 5s) == start + 5s);
  clock.count(counts(0, 0), jobs_max, start + 2h + 5s);
  clock.count(counts(1, 0), jobs_max, start + 3h);
  CHECK(clock.at(start + 3h + 1s) == start + 6s);
}

TEST_CASE("the clock of a cell goes on while jobs that are not due fill its queue") {
  BusyClock clock;
  clock.count(counts(0, 3), jobs_max, start);
  CHECK(clock.at(start + 1h) == start + 1h);
}
