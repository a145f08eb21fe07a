// The target of a request.
#include "src/http/target.hpp"

#include <string_view>

#include "tests/unit/catch.hpp"

namespace celld::http::test {
namespace {

TEST_CASE("an escape must end within its text") {
  const std::string_view whole = "a%41";
  CHECK(percent_decode(whole) == "aA");
  CHECK_FALSE(percent_decode(whole.substr(0, 3)));
  CHECK_FALSE(percent_decode(whole.substr(0, 2)));
}

TEST_CASE("a text is well-formed UTF-8 without a NUL") {
  for (const std::string_view text :
       {"", "a\x7F", "é", "\u0800", "€", "\uFFFD", "🌍", "\U0010FFFF", "a🌍é€z"}) {
    INFO(text);
    CHECK(is_text(text));
  }
  for (const std::string_view bytes :
       {"\x80", "\xC3", "\xC3z", "\xE2\x82", "\xE2\x82z", "\xE2z\xAC", "\xED\xA0\x80",
        "\xF0\x9F\x8C", "\xF0\x9F\x8Cz", "\xF0\x9Fz\x8D", "\xFF",
        // Longer than need be, and beyond the last character.
        "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80"}) {
    INFO(bytes);
    CHECK_FALSE(is_text(bytes));
  }
  CHECK_FALSE(is_text(std::string_view("a\0", 2)));
}

}  // namespace
}  // namespace celld::http::test
