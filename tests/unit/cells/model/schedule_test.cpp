#include "cells/model/schedule.hpp"

#include <utility>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"
#include "tests/unit/cells/model/zones.hpp"

using namespace cells;
using namespace std::chrono_literals;
using model_test::noon;
using model_test::utc;

namespace {

using Kind = ScheduleStep::Kind;

const model_test::FewZones zones;
const ScheduleTiming minutely{60s, "", ""};
const ScheduleTiming nightly{0ms, "30 2 * * *", "Berlin"};
constexpr WallTime long_ago{0ms};

ScheduleSpec spec_of(const ScheduleTiming& timing, CatchUp catch_up = CatchUp::one) {
  ScheduleSpec spec;
  spec.timing = timing;
  spec.catch_up = catch_up;
  spec.job = model_test::spec_with_services({"dns"});
  return spec;
}

Schedule schedule_of(const ScheduleTiming& timing, WallTime next, CatchUp catch_up = CatchUp::one) {
  Schedule schedule{"s", 1, false, spec_of(timing, catch_up), {}};
  schedule.progress.next = next;
  return schedule;
}

Timetable table_of(const ScheduleTiming& timing) {
  return Timetable::of(timing, zones).value();
}

ScheduleStep step_of(const Schedule& schedule, WallTime now, WallTime watched_since = long_ago) {
  return next_step(schedule, table_of(schedule.spec.timing), now, watched_since);
}

/// Follows the steps until the schedule waits, and returns the times that fired.
std::vector<WallTime> fired_until(Schedule& schedule, WallTime now, WallTime watched_since) {
  std::vector<WallTime> times;
  for (int steps = 0; steps < 100'000; ++steps) {
    const auto step = step_of(schedule, now, watched_since);
    if (step.kind == Kind::wait) return times;
    if (step.kind == Kind::fire) {
      times.push_back(*step.at);
      schedule.progress = fired(schedule.progress, step);
    } else {
      schedule.progress = missed(schedule.progress, step);
    }
  }
  FAIL("the schedule never waits");
  return times;
}

}  // namespace

TEST_CASE("a schedule waits for its due time, and fires at it") {
  const auto schedule = schedule_of(minutely, noon);
  CHECK(step_of(schedule, noon - 1ms) == ScheduleStep{Kind::wait, noon, 0, noon});
  CHECK(step_of(schedule, noon) == ScheduleStep{Kind::fire, noon, 1, noon + 60s});
  CHECK(step_of(schedule, noon + late_max) == ScheduleStep{Kind::fire, noon, 1, noon + 60s});
}

TEST_CASE("a paused schedule does nothing") {
  auto schedule = schedule_of(minutely, noon);
  schedule.spec.paused = true;
  CHECK(step_of(schedule, noon + 1h) == ScheduleStep{});
}

TEST_CASE("a clock that jumps back fires no time twice, one that jumps ahead catches up") {
  auto schedule = schedule_of(minutely, noon);
  CHECK(fired_until(schedule, noon, long_ago) == std::vector{noon});
  CHECK(fired_until(schedule, noon - 1h, long_ago).empty());
  CHECK(schedule.progress.next == noon + 60s);
  CHECK(fired_until(schedule, noon + 1h, long_ago) ==
        std::vector{noon + 59min, noon + 1h});  // The last one is no more than punctual.
  CHECK(schedule.progress.missed == 58);
}

TEST_CASE("after a stop, `none` drops what was missed, `one` fires once, `all` fires each") {
  const auto start = noon + 150s;
  for (const auto& [policy, expected] : std::vector<std::pair<CatchUp, std::vector<WallTime>>>{
           {CatchUp::none, {}},
           {CatchUp::one, {noon + 120s}},
           {CatchUp::all, {noon, noon + 60s, noon + 120s}}}) {
    auto schedule = schedule_of(minutely, noon, policy);
    CHECK(fired_until(schedule, start, start) == expected);
    CHECK(schedule.progress.next == noon + 180s);
    CHECK(schedule.progress.fired == expected.size());
    CHECK(schedule.progress.missed == 3 - expected.size());
  }
}

TEST_CASE("a time at the moment of the start is watched") {
  auto schedule = schedule_of(minutely, noon, CatchUp::none);
  CHECK(fired_until(schedule, noon, noon) == std::vector{noon});
  auto earlier = schedule_of(minutely, noon, CatchUp::none);
  CHECK(fired_until(earlier, noon + 1ms, noon + 1ms).empty());
}

TEST_CASE("`all` is limited to the last times") {
  for (const auto& timing : {minutely, ScheduleTiming{0ms, "* * * * *", "UTC"}}) {
    const auto start = noon + 30'000min + 30s;  // More times than one step looks at.
    auto schedule = schedule_of(timing, noon, CatchUp::all);
    const auto times = fired_until(schedule, start, start);
    REQUIRE(times.size() == catch_up_max);
    CHECK(times.front() == noon + 29'001min);
    CHECK(times.back() == noon + 30'000min);
    CHECK(schedule.progress.missed == 30'001 - catch_up_max);
    CHECK(schedule.progress.next == noon + 30'001min);
  }
}

TEST_CASE("`one` and `none` take a long stop in pieces") {
  for (const auto policy : {CatchUp::none, CatchUp::one}) {
    const auto start = noon + 25'000min + 30s;
    auto schedule = schedule_of({0ms, "* * * * *", "UTC"}, noon, policy);
    const bool fires = policy == CatchUp::one;
    CHECK(fired_until(schedule, start, start) ==
          (fires ? std::vector{noon + 25'000min} : std::vector<WallTime>{}));
    CHECK(schedule.progress.missed == (fires ? 25'000U : 25'001U));
    CHECK(schedule.progress.next == noon + 25'001min);
  }
}

TEST_CASE("a skipped step counts one time as skipped, and those before it as missed") {
  const ScheduleStep step{Kind::fire, noon, 3, noon + 60s};
  const ScheduleProgress before{noon - 120s, 9, 1, 1, 1};
  CHECK(fired(before, step) == ScheduleProgress{noon + 60s, 9, 2, 1, 3});
  CHECK(skipped(before, step) == ScheduleProgress{noon + 60s, 9, 1, 2, 3});
  CHECK(missed(before, step) == ScheduleProgress{noon + 60s, 9, 1, 1, 4});
}

TEST_CASE("the due time after now is found without walking over the others") {
  const auto table = table_of(minutely);
  CHECK(table.following_after(noon, noon - 1ms) == noon);
  CHECK(table.following_after(noon, noon) == noon + 60s);
  CHECK(table.following_after(noon, noon + 125s) == noon + 180s);
  CHECK(table_of(nightly).following_after(utc(2026, 3, 27, 1, 30), utc(2026, 3, 28, 12)) ==
        utc(2026, 3, 29, 1));
}

TEST_CASE("a schedule with an unknown time zone has no timetable") {
  CHECK_FALSE(Timetable::of({0ms, "* * * * *", "Mars/Base"}, zones));
  CHECK(Timetable::of({1s, "", "Mars/Base"}, zones));
}

TEST_CASE("a new schedule is due after one interval, or at the next time of its rule") {
  const auto fresh =
      respecified(std::nullopt, "s", spec_of(minutely), false, table_of(minutely), noon);
  CHECK(fresh.progress == ScheduleProgress{noon + 60s, 0, 0, 0, 0});
  CHECK(fresh.revision > 0);
  const auto cron = respecified(std::nullopt, "s", spec_of(nightly), true, table_of(nightly),
                                utc(2026, 3, 28, 12));
  CHECK(cron.progress.next == utc(2026, 3, 29, 1));
  CHECK(cron.configured);
}

TEST_CASE("a changed schedule keeps its due time unless its timing changed") {
  auto before = schedule_of(minutely, noon + 5s);
  before.progress.last_job = 7;
  before.progress.missed = 3;
  auto spec = spec_of(minutely, CatchUp::all);
  const auto same = respecified(before, "s", spec, false, table_of(minutely), noon);
  CHECK(same.progress == before.progress);
  CHECK(same.spec.catch_up == CatchUp::all);
  CHECK(same.revision > before.revision);

  const auto other =
      respecified(before, "s", spec_of({30s, "", ""}), false, table_of({30s, "", ""}), noon);
  CHECK(other.progress == ScheduleProgress{noon + 30s, 7, 0, 0, 3});

  spec.paused = true;
  const auto paused = respecified(before, "s", spec, false, table_of(minutely), noon);
  CHECK_FALSE(paused.progress.next);
  spec.paused = false;
  const auto resumed = respecified(paused, "s", spec, false, table_of(minutely), noon + 1h);
  CHECK(resumed.progress == ScheduleProgress{noon + 1h + 60s, 7, 0, 0, 3});
  CHECK(resumed.progress.missed == 3);
}

TEST_CASE("a revision grows even if the clock is set back") {
  const auto first =
      respecified(std::nullopt, "s", spec_of(minutely), false, table_of(minutely), noon);
  const auto second =
      respecified(first, "s", spec_of(minutely), false, table_of(minutely), noon - 1h);
  CHECK(second.revision > first.revision);
}

TEST_CASE("an advance applies only to the progress that it was made from") {
  const auto schedule = schedule_of(minutely, noon);
  CHECK(ScheduleAdvance{"s", 1, noon, {}}.applies_to(schedule));
  CHECK_FALSE(ScheduleAdvance{"s", 2, noon, {}}.applies_to(schedule));
  CHECK_FALSE(ScheduleAdvance{"s", 1, noon + 1ms, {}}.applies_to(schedule));
  CHECK_FALSE(ScheduleAdvance{"s", 1, std::nullopt, {}}.applies_to(schedule));
}

TEST_CASE("a refused firing waits for 1 to 10 seconds") {
  CHECK(retry_pause(0ms) == 1s);
  CHECK(retry_pause(5s) == 5s);
  CHECK(retry_pause(1h) == 10s);
}

TEST_CASE("the policies have names") {
  CHECK(to_string(Overlap::skip) == "skip");
  for (const auto overlap : {Overlap::skip, Overlap::allow})
    CHECK(parse_overlap(to_string(overlap)) == overlap);
  for (const auto catch_up : {CatchUp::none, CatchUp::one, CatchUp::all})
    CHECK(parse_catch_up(to_string(catch_up)) == catch_up);
  CHECK_FALSE(parse_overlap("none"));
  CHECK_FALSE(parse_catch_up("skip"));
}

TEST_CASE("the memory of a schedule grows with its job") {
  auto schedule = schedule_of(minutely, noon);
  const auto small = approximate_bytes(schedule);
  schedule.spec.job.parameters = std::string(5000, 'x');
  schedule.spec.job.labels["ticket"] = "T-1";
  CHECK(approximate_bytes(schedule) > small + 5000);
}
