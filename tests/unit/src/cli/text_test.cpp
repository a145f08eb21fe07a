#include <string>

#include "src/cli/text.hpp"
#include "src/json/json.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::cli;

TEST_CASE("characters that move the cursor or change the text direction are replaced") {
  CHECK(cleaned("plain text, Grüße, 日本") == "plain text, Grüße, 日本");
  CHECK(cleaned("two\nlines\tand\ra return") == "two lines and a return");
  CHECK(cleaned("\x1b[31mred\x07\x7f") == "\uFFFD[31mred\uFFFD\uFFFD");
  CHECK(cleaned("\xC2\x9B"
                "2J") == "\uFFFD2J");  // CSI as a single C1 character.
  CHECK(cleaned("a\u202Eb\u2066c\u2028d") == "a\uFFFDb\uFFFDc\uFFFDd");
  CHECK(cleaned("a\u200Eb\u200Fc\u061Cd") == "a\uFFFDb\uFFFDc\uFFFDd");
  CHECK(cleaned(std::string_view("nul\0", 4)) == "nul\uFFFD");
}

TEST_CASE("bytes that are not UTF-8 are replaced one by one") {
  for (const std::string_view bytes :
       {"\xFF", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80"}) {
    std::string expected;
    for (std::size_t i = 0; i < bytes.size(); ++i) expected += "\uFFFD";
    CHECK(cleaned(bytes) == expected);
  }
}

TEST_CASE("wide characters take two columns and combining ones none") {
  CHECK(width_of("") == 0);
  CHECK(width_of("zone") == 4);
  CHECK(width_of("Grüße") == 5);
  CHECK(width_of("日本") == 4);
  CHECK(width_of("e\u0301") == 1);
  CHECK(width_of("\U0001F600") == 2);
}

TEST_CASE("a text that is too wide is cut to the width and ends in an ellipsis") {
  CHECK(fitted("example.com", 11) == "example.com");
  CHECK(fitted("example.com", 8) == "example…");
  CHECK(fitted("日本語", 5) == "日本…");
  CHECK(fitted("日本語", 4) == "日…");
  CHECK(fitted("日本語", 1) == "…");
  CHECK(fitted("x", 0).empty());
  for (std::size_t width = 0; width < 12; ++width)
    CHECK(width_of(fitted("a日b本\u0301c語", width)) <= width);
}

TEST_CASE("JSON for a terminal is harmless and keeps its meaning") {
  const std::string document = json::dump({{"k", "a\u009Bb\x7F\u202Ec日"}});
  const std::string shown = json_for_terminal(document);
  CHECK(shown == R"({"k":"a\u009bb\u007f\u202ec日"})");
  CHECK(cleaned(shown) == shown);
  CHECK(json::Value::parse(shown) == json::Value::parse(document));
}
