#include "src/cli/schedule_view.hpp"

#include <string>

#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::cli;

namespace {

json::Value a_schedule() {
  return json::Value::parse(R"({"name":"nightly","cron":"30 2 * * *","time_zone":"Europe/Berlin",
      "job":{"customer":"acme","product":"dns","action":"renew",
             "entity":{"type":"zone","id":"example.com"},"services":["dns"]},
      "overlap":"skip","catch_up":"one","paused":false,"configured":false,
      "next_run_at":"2026-11-25T01:30:00.000Z","last_job":"06f3k9v2m8qzr","fired":12,"skipped":1,
      "missed":0})");
}

}  // namespace

TEST_CASE("a schedule is one line with its times") {
  ScheduleTable table;
  table.add(a_schedule());
  auto paused = a_schedule();
  paused.erase("cron");
  paused["name"] = "hourly";
  paused["every_ms"] = 3'600'000;
  paused["paused"] = true;
  paused["next_run_at"] = nullptr;
  paused["last_job"] = nullptr;
  table.add(paused);
  CHECK(table.text({}) ==
        "SCHEDULE  WHEN                      NEXT                      LAST JOB       FIRED  "
        "SKIPPED  MISSED\n"
        "nightly   30 2 * * * Europe/Berlin  2026-11-25T01:30:00.000Z  06f3k9v2m8qzr     12  "
        "      1       0\n"
        "hourly    every 60m                 paused                                      12  "
        "      1       0\n");
}

TEST_CASE("the details of a schedule name its job and its rules") {
  CHECK(schedule_details(a_schedule(), {}) ==
        "schedule    nightly\n"
        "from        the API\n"
        "when        30 2 * * * Europe/Berlin\n"
        "next        2026-11-25T01:30:00.000Z\n"
        "job         renew zone/example.com of acme/dns\n"
        "overlap     skip\n"
        "catch up    one\n"
        "last job    06f3k9v2m8qzr\n"
        "fired       12\n"
        "skipped     1\n"
        "missed      0\n");
}

TEST_CASE("a schedule that is not due again says so") {
  auto schedule = a_schedule();
  schedule["next_run_at"] = nullptr;
  CHECK(schedule_details(schedule, {}).find("\nnext        never\n") != std::string::npos);
}

TEST_CASE("views of schedules accept any JSON") {
  for (const char* text : {"null", "[]", "{}", "7", R"({"job":7,"cron":[],"every_ms":"x"})"}) {
    const auto value = json::Value::parse(text);
    ScheduleTable table;
    table.add(value);
    CHECK(!table.text({.width = 20}).empty());
    CHECK(!schedule_details(value, {.width = 20}).empty());
  }
}
