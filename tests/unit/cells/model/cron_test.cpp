#include "cells/model/cron.hpp"

#include <string>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/zones.hpp"

using namespace cells;
using model_test::utc;

namespace {

const model_test::FewZones zones;

CronRule rule(const std::string& text) {
  auto parsed = CronRule::parse(text);
  INFO(text);
  REQUIRE(std::holds_alternative<CronRule>(parsed));
  return std::get<CronRule>(parsed);
}

std::vector<std::string> faults(const std::string& text) {
  auto parsed = CronRule::parse(text);
  INFO(text);
  REQUIRE(std::holds_alternative<std::vector<std::string>>(parsed));
  return std::get<std::vector<std::string>>(parsed);
}

/// The first matching times after `from`.
std::vector<WallTime> times(const std::string& text, WallTime from, std::size_t count,
                            const std::string& zone = "UTC") {
  std::vector<WallTime> found;
  const auto place = zones.find(zone);
  for (auto at = rule(text).next_after(from, *place); at && found.size() < count;
       at = rule(text).next_after(*at, *place)) {
    found.push_back(*at);
  }
  return found;
}

using Times = std::vector<WallTime>;

}  // namespace

TEST_CASE("a cron rule matches minutes, hours, days and months") {
  const auto from = utc(2026, 11, 24, 7, 30);  // A Tuesday.
  CHECK(times("* * * * *", from, 2) == Times{utc(2026, 11, 24, 7, 31), utc(2026, 11, 24, 7, 32)});
  CHECK(times("0 3 * * *", from, 2) == Times{utc(2026, 11, 25, 3), utc(2026, 11, 26, 3)});
  CHECK(times("*/25 8 * * *", from, 4) == Times{utc(2026, 11, 24, 8), utc(2026, 11, 24, 8, 25),
                                                utc(2026, 11, 24, 8, 50), utc(2026, 11, 25, 8)});
  CHECK(times("5,10-20/5 0 1 1 *", from, 5) == Times{utc(2027, 1, 1, 0, 5), utc(2027, 1, 1, 0, 10),
                                                     utc(2027, 1, 1, 0, 15), utc(2027, 1, 1, 0, 20),
                                                     utc(2028, 1, 1, 0, 5)});
  CHECK(times("*/59 * * * *", from, 2) == Times{utc(2026, 11, 24, 7, 59), utc(2026, 11, 24, 8)});
  CHECK(times("59 23 31 12 *", from, 1) == Times{utc(2026, 12, 31, 23, 59)});
  CHECK(times("0 0 29 2 *", from, 2) == Times{utc(2028, 2, 29), utc(2032, 2, 29)});
}

TEST_CASE("a leap day of one weekday may be 40 years away") {
  const Times sundays{utc(2060, 2, 29), utc(2088, 2, 29), utc(2128, 2, 29)};
  CHECK(times("0 0 29 2 */7", utc(2032, 3, 1), 3) == sundays);
}

TEST_CASE("a time that matches exactly is not after itself") {
  CHECK(times("30 7 * * *", utc(2026, 11, 24, 7, 30), 1) == Times{utc(2026, 11, 25, 7, 30)});
  CHECK(times("30 7 * * *", utc(2026, 11, 24, 7, 29, 59), 1) == Times{utc(2026, 11, 24, 7, 30)});
  CHECK(times("30 7 * * *", utc(2026, 11, 24, 7, 30, 1), 1) == Times{utc(2026, 11, 25, 7, 30)});
}

TEST_CASE("months and days of the week may be named, and Sunday is 0 and 7") {
  const auto from = utc(2026, 11, 24);  // A Tuesday.
  const Times sundays{utc(2026, 11, 29), utc(2026, 12, 6)};
  CHECK(times("0 0 * * 0", from, 2) == sundays);
  CHECK(times("0 0 * * 7", from, 2) == sundays);
  CHECK(times("0 0 * * SUN", from, 2) == sundays);
  CHECK(times("0 0 * * sun-sun", from, 2) == sundays);
  CHECK(times("0 0 * * mon-fri", from, 4) ==
        Times{utc(2026, 11, 25), utc(2026, 11, 26), utc(2026, 11, 27), utc(2026, 11, 30)});
  CHECK(times("0 0 * * fri-sun", from, 4) ==
        Times{utc(2026, 11, 27), utc(2026, 11, 28), utc(2026, 11, 29), utc(2026, 12, 4)});
  CHECK(times("0 0 1 jan,Mar *", from, 3) ==
        Times{utc(2027, 1, 1), utc(2027, 3, 1), utc(2028, 1, 1)});
}

TEST_CASE("two restricted day fields match days that either names; with a star, both") {
  const auto from = utc(2026, 11, 24);
  CHECK(times("0 0 13 * fri", from, 3) ==
        Times{utc(2026, 11, 27), utc(2026, 12, 4), utc(2026, 12, 11)});
  CHECK(times("0 0 1 * mon", utc(2026, 12, 28), 2) == Times{utc(2027, 1, 1), utc(2027, 1, 4)});
  CHECK(times("0 0 */2 * mon", from, 2) == Times{utc(2026, 12, 7), utc(2026, 12, 21)});
  CHECK(times("0 0 1 * */2", from, 2) == Times{utc(2026, 12, 1), utc(2027, 4, 1)});
  // Impossible by its date alone, but not by its weekday.
  CHECK(times("0 0 30 2 mon", from, 1) == Times{utc(2027, 2, 1)});
}

TEST_CASE("a local time that does not exist fires once, at the end of the gap") {
  const auto before = utc(2026, 3, 28, 12);  // Clocks jump from 02:00 to 03:00 on 29 March.
  CHECK(times("30 2 * * *", before, 3, "Berlin") ==
        Times{utc(2026, 3, 29, 1), utc(2026, 3, 30, 0, 30), utc(2026, 3, 31, 0, 30)});
  CHECK(times("*/20 2,3 * * *", utc(2026, 3, 29, 0), 4, "Berlin") ==
        Times{utc(2026, 3, 29, 1), utc(2026, 3, 29, 1, 20), utc(2026, 3, 29, 1, 40),
              utc(2026, 3, 30, 0)});
}

TEST_CASE("a local time that exists twice fires once, at the first") {
  const auto before = utc(2026, 10, 24, 12);  // Clocks go back from 03:00 to 02:00 on 25 October.
  CHECK(times("30 2 * * *", before, 2, "Berlin") ==
        Times{utc(2026, 10, 25, 0, 30), utc(2026, 10, 26, 1, 30)});
  CHECK(times("0 * * * *", utc(2026, 10, 24, 23), 3, "Berlin") ==
        Times{utc(2026, 10, 25, 0), utc(2026, 10, 25, 2), utc(2026, 10, 25, 3)});
  // A schedule that begins while clocks show these times again.
  CHECK(times("30 2 * * *", utc(2026, 10, 25, 1, 10), 1, "Berlin") ==
        Times{utc(2026, 10, 26, 1, 30)});
}

TEST_CASE("a day of the year in local time, not in UTC") {
  CHECK(times("0 0 1 1 *", utc(2026, 6, 1), 1, "Berlin") == Times{utc(2026, 12, 31, 23)});
}

TEST_CASE("everything that is wrong with an expression is reported") {
  using Faults = std::vector<std::string>;
  const Faults count{
      "must have five fields: minute, hour, day of the month, month, day of the week"};
  CHECK(faults("") == count);
  CHECK(faults("* * * *") == count);
  CHECK(faults("* * * * * *") == count);
  CHECK(faults("@daily") == count);
  CHECK(faults("60 24 0 13 8") == Faults{"minute: `60` is not in 0-59", "hour: `24` is not in 0-23",
                                         "day of the month: `0` is not in 1-31",
                                         "month: `13` is not in 1-12",
                                         "day of the week: `8` is not in 0-7"});
  CHECK(faults("1,,2 * * * *") == Faults{"minute: a value is missing"});
  CHECK(faults("1, * * * *") == Faults{"minute: a value is missing"});
  CHECK(faults("-1 * * * *") == Faults{"minute: a value is missing"});
  CHECK(faults("1- * * * *") == Faults{"minute: a value is missing"});
  CHECK(faults("9-5 * * * *") == Faults{"minute: the range `9-5` is empty"});
  CHECK(faults("* * * * fri-0") == Faults{"day of the week: the range `fri-0` is empty"});
  CHECK(faults("5/2 * * * *") == Faults{"minute: `5/2` needs a range before the step"});
  CHECK(faults("*/0 * * * *") == Faults{"minute: `*/0` needs a step of 1 to 59"});
  CHECK(faults("*/60 * * * *") == Faults{"minute: `*/60` needs a step of 1 to 59"});
  CHECK(faults("*/ * * * *") == Faults{"minute: `*/` needs a step of 1 to 59"});
  CHECK(faults("*/5/5 * * * *") == Faults{"minute: `*/5/5` needs a step of 1 to 59"});
  CHECK(faults("1-2-3 * * * *") == Faults{"minute: `2-3` is not in 0-59"});
  CHECK(faults("+5 * * * *") == Faults{"minute: `+5` is not in 0-59"});
  CHECK(faults("jan * * * *") == Faults{"minute: `jan` is not in 0-59"});
  CHECK(faults("99999999999 * * * *") == Faults{"minute: `99999999999` is not in 0-59"});
  CHECK(faults("** * * * *") == Faults{"minute: `**` is not in 0-59"});
  CHECK(faults("0 0 30 2 *") == Faults{"matches no day: none of the months has such a day"});
  CHECK(faults("0 0 31 feb,apr,jun */2") ==
        Faults{"matches no day: none of the months has such a day"});
  CHECK(faults(std::string(257, ' ')) == Faults{"must have at most 256 bytes"});
}

TEST_CASE("blanks and tabs separate fields, however many") {
  CHECK(times(" 0\t3  *  * *  ", utc(2026, 11, 24), 1) == Times{utc(2026, 11, 24, 3)});
}
