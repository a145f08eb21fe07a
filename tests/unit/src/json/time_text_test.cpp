#include "src/json/time_text.hpp"

#include <string>

#include "tests/unit/catch.hpp"

using namespace celld::json;
using cells::WallTime;
using std::chrono::milliseconds;

namespace {

std::optional<std::int64_t> ms(std::string_view text) {
  const auto time = parse_time(text);
  if (!time) return std::nullopt;
  return time->time_since_epoch().count();
}

}  // namespace

TEST_CASE("times are written in UTC with milliseconds") {
  CHECK(format_time(WallTime{}) == "1970-01-01T00:00:00.000Z");
  CHECK(format_time(WallTime(milliseconds(1795214576123))) == "2026-11-20T22:42:56.123Z");
  CHECK(format_time(WallTime(milliseconds(951782400007))) == "2000-02-29T00:00:00.007Z");
  CHECK(format_time(WallTime(milliseconds(253402300799999))) == "9999-12-31T23:59:59.999Z");
}

TEST_CASE("a formatted time parses back") {
  for (std::int64_t at = 1; at < 253402300799999; at = at * 3 + 7) {
    const WallTime time{milliseconds(at)};
    CHECK(parse_time(format_time(time)) == time);
  }
}

TEST_CASE("a fraction may be short, long or absent") {
  CHECK(ms("1970-01-01T00:00:01Z") == 1000);
  CHECK(ms("1970-01-01T00:00:01.5Z") == 1500);
  CHECK(ms("1970-01-01T00:00:01.05Z") == 1050);
  CHECK(ms("1970-01-01T00:00:01.123999Z") == 1123);
  CHECK(ms("1970-01-01T00:00:01.000000001Z") == 1000);
  CHECK(ms("1970-01-01T00:00:01.123456+00:00") == 1123);
}

TEST_CASE("a point after a mismatch does not hide it") {
  for (const auto* text : {".5", "20.6", "2026-1.5", "2026-11-20T24.5", "2026-13-20T22:42:.123Z"})
    CHECK_FALSE(ms(text));
}

TEST_CASE("a text that is not an RFC 3339 time in UTC is refused") {
  for (const auto* text : {"",
                           "Z",
                           "2026-11-20",
                           "2026-11-20T22:42:56",
                           "2026-11-20T22:42:56.Z",
                           "2026-11-20T22:42:56.1234567890Z",
                           "2026-11-20 22:42:56Z",
                           "2026-11-20t22:42:56Z",
                           "2026-11-20T22:42:56z",
                           "2026-11-20T22:42Z",
                           "2026-11-20T22:42:56+01:00",
                           "2026-11-20T22:42:56-00:00",
                           "2026-11-20T22:42:60Z",
                           "2026-11-20T24:00:00Z",
                           "2026-11-20T22:60:00Z",
                           "2026-13-20T22:42:56Z",
                           "2026-00-20T22:42:56Z",
                           "2026-02-29T22:42:56Z",
                           "2026-04-31T22:42:56Z",
                           "2026-11-00T22:42:56Z",
                           "1969-12-31T23:59:59Z",
                           "10000-01-01T00:00:00Z",
                           "+2026-11-20T22:42:56Z",
                           " 2026-11-20T22:42:56Z",
                           "2026-11-20T22:42:56Z ",
                           "2026-11-20T22:42:56.12aZ",
                           "2026-11-20T22:42:56ZZ",
                           "20261120T224256Z",
                           "2026-1-20T22:42:56Z",
                           "١٩٧٠-01-01T00:00:00Z"})
    CHECK_FALSE(ms(text));
}
