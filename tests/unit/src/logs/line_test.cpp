// A line is one line, in both formats, whatever is in it.
#include "src/logs/line.hpp"

#include "src/json/json.hpp"
#include "tests/unit/catch.hpp"

namespace celld::logs {
namespace {

constexpr std::int64_t some_time = 1'795'268'682'045;  // 2026-11-21T13:44:42.045Z.

Line a_line() {
  Line line{Level::warning, "an attempt timed out"};
  line.text("cell", "acme/dns").text("service", "two words").number("attempt", 3).flag("audit");
  return line;
}

json::Value parsed(const std::string& text) {
  auto result = json::parse(text);
  REQUIRE(std::holds_alternative<json::Document>(result));
  return std::get<json::Document>(std::move(result)).value;
}

std::string whole(const Line& line, Format format) {
  return finish(some_time, line.level(), render(line, format), format);
}

TEST_CASE("a JSON line is one object with time, level, message and fields") {
  const std::string text = whole(a_line(), Format::json);
  CHECK(text.find('\n') == text.size() - 1);
  CHECK(parsed(text.substr(0, text.size() - 1)) == json::Value{{"time", "2026-11-21T13:44:42.045Z"},
                                                               {"level", "warning"},
                                                               {"message", "an attempt timed out"},
                                                               {"cell", "acme/dns"},
                                                               {"service", "two words"},
                                                               {"attempt", 3},
                                                               {"audit", true}});
}

TEST_CASE("a text line has quotes only where it needs them") {
  CHECK(whole(a_line(), Format::text) ==
        "2026-11-21T13:44:42.045Z warning an attempt timed out cell=acme/dns "
        "service=\"two words\" attempt=3 audit=true\n");
}

TEST_CASE("neither a message nor a field can start another line or field") {
  const std::string evil = "a\nb\r\x1b[2J\" level=x \\ \x80";
  Line line{Level::info, evil};
  line.text("path", evil).text("empty", "");
  for (const Format format : {Format::json, Format::text}) {
    const std::string text = whole(line, format);
    CHECK(text.find('\n') == text.size() - 1);
    CHECK(text.find('\r') == std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
  }
  const std::string json_text = whole(line, Format::json);
  const auto value = parsed(json_text.substr(0, json_text.size() - 1));
  CHECK(value["message"] == "a\nb\r\x1b[2J\" level=x \\ \xEF\xBF\xBD");
  CHECK(value["path"] == value["message"]);
  CHECK(value["level"] == "info");
}

TEST_CASE("no character beyond ASCII moves a terminal's cursor either") {
  const std::string evil = "a\u0085\u009b2Jé\u2028z";
  Line line{Level::info, evil};
  line.text("path", evil);
  const std::string escaped = "\"a\\u0085\\u009b2Jé\\u2028z\"";
  CHECK(whole(line, Format::text).find("info " + escaped + " path=" + escaped) !=
        std::string::npos);
  const std::string json_text = whole(line, Format::json);
  const auto value = parsed(json_text.substr(0, json_text.size() - 1));
  CHECK(value["message"] == evil);
  CHECK(value["path"] == evil);
  CHECK(json_text.find("\u009b") == std::string::npos);
}

TEST_CASE("levels and formats are parsed by name") {
  for (const Level level :
       {Level::debug, Level::info, Level::warning, Level::error, Level::critical}) {
    CHECK(parse_level(to_string(level)) == level);
  }
  CHECK_FALSE(parse_level("loud"));
  CHECK(parse_format("json") == Format::json);
  CHECK(parse_format("text") == Format::text);
  CHECK_FALSE(parse_format("xml"));
}

}  // namespace
}  // namespace celld::logs
