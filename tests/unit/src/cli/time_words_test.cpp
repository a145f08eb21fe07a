#include <string_view>

#include "src/cli/time_words.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::cli;

TEST_CASE("durations have a unit, and a plain number is seconds") {
  const auto ms = [](std::string_view text) { return parse_duration(text).value().count(); };
  CHECK(ms("250ms") == 250);
  CHECK(ms("5s") == 5000);
  CHECK(ms("5") == 5000);
  CHECK(ms("1.5s") == 1500);
  CHECK(ms("0.25") == 250);
  CHECK(ms("2m") == 120'000);
  CHECK(ms("3h") == 10'800'000);
  CHECK(ms("7d") == 604'800'000);
  CHECK(ms("0") == 0);
  CHECK(ms("0.123456789") == 123);
}

TEST_CASE("no duration is longer than a hundred years of 365 days") {
  CHECK(parse_duration("36500d") == milliseconds{3'153'600'000'000});
  CHECK(!parse_duration("3153600000001ms"));
}

TEST_CASE("any other text is not a duration") {
  for (const std::string_view text :
       {"", "s", "-5s", "+5s", "5 s", "5x", "5.", ".5", "1.5.2s", "5S", "1e3",
        "99999999999999999999", "40000d", "0.1234567891", "0x10", "06f3k9v2m8qzr"})
    CHECK(!parse_duration(text));
}

TEST_CASE("ages are short and never negative") {
  const auto age = [](std::int64_t seconds) { return age_text(milliseconds(seconds * 1000)); };
  CHECK(age(-5) == "0s");
  CHECK(age(0) == "0s");
  CHECK(age(119) == "119s");
  CHECK(age(120) == "2m");
  CHECK(age(7199) == "119m");
  CHECK(age(7200) == "2h");
  CHECK(age(172'799) == "47h");
  CHECK(age(172'800) == "2d");
  CHECK(age(86'400 * 400) == "400d");
}

TEST_CASE("a run time is more precise the shorter it is") {
  CHECK(duration_text(milliseconds(0)) == "0ms");
  CHECK(duration_text(milliseconds(999)) == "999ms");
  CHECK(duration_text(milliseconds(1000)) == "1.0s");
  CHECK(duration_text(milliseconds(9999)) == "9.9s");
  CHECK(duration_text(milliseconds(1250)) == "1.2s");
  CHECK(duration_text(milliseconds(10'000)) == "10s");
  CHECK(duration_text(milliseconds(150'000)) == "2m");
}

TEST_CASE("times for the API are UTC times or days") {
  CHECK(time_for_api("2026-11-20T22:42:56Z") == "2026-11-20T22:42:56Z");
  CHECK(time_for_api("2026-11-20") == "2026-11-20T00:00:00Z");
  CHECK(!time_for_api("2026-13-20"));
  CHECK(!time_for_api("yesterday"));
  CHECK(!time_for_api("2026-11-20T22:42:56+01:00"));
}
