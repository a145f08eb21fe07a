// The zones of the machine, compared with what their clocks are known to have done.
#include "src/time_zones.hpp"

#include <sys/resource.h>

#include <string>

#include "cells/model/cron.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/zones.hpp"

using namespace celld;
using model_test::utc;

namespace {

cells::LocalTime local(int year, unsigned month, unsigned day, int hour, int minute) {
  return cells::LocalTime{std::chrono::floor<std::chrono::seconds>(
      utc(year, month, day, hour, minute).time_since_epoch())};
}

}  // namespace

TEST_CASE("UTC needs no database") {
  const auto zone = SystemTimeZones{}.find("UTC");
  REQUIRE(zone);
  CHECK(zone->local_time(utc(2026, 11, 24, 8, 33, 5)) ==
        local(2026, 11, 24, 8, 33) + std::chrono::seconds{5});
  CHECK(zone->instant_of(local(2026, 11, 24, 8, 33)) == utc(2026, 11, 24, 8, 33));
}

#if !defined(__SANITIZE_THREAD__)  // Its pthread_once() hangs after an exception.
TEST_CASE("a zone whose file cannot be read is not used, and can be once it is readable") {
  const std::string name = "Pacific/Marquesas";  // No other test uses it.
  CHECK(time_zone_fault("Europe/Berlin").empty());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const auto zone = SystemTimeZones{}.find(name);
  const auto fault = time_zone_fault(name);
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK_FALSE(zone);
  CHECK(fault.starts_with("cannot be read from the time zone database of this machine: "));
  CHECK(SystemTimeZones{}.find(name));
  CHECK(time_zone_fault(name).empty());
}
#endif

TEST_CASE("a zone of the machine follows its changes of the clock") {
  const auto berlin = SystemTimeZones{}.find("Europe/Berlin");
  REQUIRE(berlin);
  CHECK(berlin->local_time(utc(2026, 1, 1)) == local(2026, 1, 1, 1, 0));
  CHECK(berlin->local_time(utc(2026, 7, 1)) == local(2026, 7, 1, 2, 0));
  CHECK(berlin->instant_of(local(2026, 7, 1, 2, 0)) == utc(2026, 7, 1));
  // A gap, and a time that occurs twice.
  CHECK(berlin->instant_of(local(2026, 3, 29, 2, 30)) == utc(2026, 3, 29, 1));
  CHECK(berlin->instant_of(local(2026, 10, 25, 2, 30)) == utc(2026, 10, 25, 0, 30));
}

TEST_CASE("a whole day that a zone left out is a gap") {
  const auto apia = SystemTimeZones{}.find("Pacific/Apia");  // Without 30 December 2011.
  REQUIRE(apia);
  const auto parsed = cells::CronRule::parse("0 12 30 12 *");
  const auto& rule = std::get<cells::CronRule>(parsed);
  CHECK(rule.next_after(utc(2011, 12, 29), *apia) == utc(2011, 12, 30, 10));
}

TEST_CASE("an unknown zone is a fault") {
  CHECK(time_zone_fault("Europe/Berlin").empty());
  CHECK(time_zone_fault("UTC").empty());
  CHECK(time_zone_fault("Mars/Base") == "is not in the time zone database of this machine");
  CHECK(SystemTimeZones{}.find("Mars/Base") == nullptr);
  CHECK(SystemTimeZones{}.find("") == nullptr);
}
