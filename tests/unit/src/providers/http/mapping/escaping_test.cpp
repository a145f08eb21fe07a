// Values in their contexts: escaped, or refused.
#include "src/providers/http/mapping/escaping.hpp"

#include <string>

#include "tests/unit/catch.hpp"

namespace celld::providers::mappings {
namespace {

std::string escaped(EscapeContext context, const std::string& text) {
  const auto result = escape(context, text, "entity.id");
  const auto* refusal = std::get_if<Refusal>(&result);
  return refusal == nullptr ? std::get<std::string>(result) : "refused: " + refusal->text;
}

/// The text of a template, "left out", or why there is none.
std::string rendered(const std::string& text, EscapeContext context,
                     const json::Value& parameters) {
  Scope scope;
  scope.document = {{"parameters", parameters}};
  const auto result = render_text(std::get<Template>(parse_template(text)), context, scope);
  if (const auto* refusal = std::get_if<Refusal>(&result)) return "refused: " + refusal->text;
  return std::get<std::optional<std::string>>(result).value_or("left out");
}

}  // namespace

TEST_CASE("a value stays within its segment of a path") {
  CHECK(escaped(EscapeContext::path, "example.com") == "example.com");
  CHECK(escaped(EscapeContext::path, "a/b?c#d e%41;=&+") == "a%2Fb%3Fc%23d%20e%2541%3B%3D%26%2B");
  CHECK(escaped(EscapeContext::path, "/") == "%2F");
  CHECK(escaped(EscapeContext::path, "z\u00fcrich") == "z%C3%BCrich");
  CHECK(escaped(EscapeContext::path, "a..b") == "a..b");
}

TEST_CASE("a path refuses dots that a server could resolve, and control characters") {
  for (const char* text : {".", "..", "../x", "a/..", "a/./b", "a\\..\\b", "..\\"}) {
    INFO(text);
    CHECK(escaped(EscapeContext::path, text) ==
          "refused: `entity.id` has `.` or `..` as part of a path");
  }
  for (const char* text : {"a\nb", "a\tb", "\x7f"}) {
    INFO(text);
    CHECK(escaped(EscapeContext::path, text) == "refused: `entity.id` has a control character");
  }
}

TEST_CASE("a segment of dots is found behind escapes of either case") {
  for (const char* text : {"%2e", "%2E%2e", "a%2F..", "a%2f%2E", "..%5Cb", "a%5c..", "%/..",
                           "a%2/..", "%zz/..", "%.2/.."}) {
    INFO(text);
    CHECK(has_dot_part(text));
  }
  for (const char* text :
       {"%2", "..%", "..%2", "..%2x", ".%2d.", "%252e", "%2D.", "..%4a", "%AE"}) {
    INFO(text);
    CHECK_FALSE(has_dot_part(text));
  }
}

TEST_CASE("a query has no character with a meaning") {
  CHECK(escaped(EscapeContext::query, "a&b=c+d\n\"../") == "a%26b%3Dc%2Bd%0A%22..%2F");
}

TEST_CASE("a header cannot end its line") {
  CHECK(escaped(EscapeContext::header, "Bearer x;\ty \"z\"") == "Bearer x;\ty \"z\"");
  for (const char* text : {"a\r\nX: y", "a\nb", "a\x01", "\x7f"}) {
    INFO(text);
    CHECK(escaped(EscapeContext::header, text) == "refused: `entity.id` has a control character");
  }
}

TEST_CASE("a JSON text is left to the writer of the document") {
  CHECK(escaped(EscapeContext::json, "a\"\n") == "a\"\n");
}

TEST_CASE("texts, numbers and booleans have a text, and other values have none") {
  const json::Value parameters{{"t", "x y"}, {"n", 1.5}, {"b", false}, {"l", {1}}, {"z", nullptr}};
  CHECK(rendered("<{{parameters.t}}|{{parameters.n}}|{{parameters.b}}>", EscapeContext::json,
                 parameters) == "<x y|1.5|false>");
  CHECK(rendered("{{parameters.l}}", EscapeContext::json, parameters) ==
        "refused: `parameters.l` is an array, not a string, a number or a boolean");
  CHECK(rendered("{{parameters.z}}", EscapeContext::query, parameters) ==
        "refused: `parameters.z` is null, not a string, a number or a boolean");
  CHECK(rendered("{{parameters.gone}}", EscapeContext::query, parameters) ==
        "refused: `parameters.gone` is missing");
}

TEST_CASE("what is optional and missing is left out") {
  const json::Value parameters{{"t", "x"}, {"z", nullptr}};
  CHECK(rendered("{{parameters.t | optional}}", EscapeContext::query, parameters) == "x");
  CHECK(rendered("{{parameters.gone | optional}}", EscapeContext::query, parameters) == "left out");
  CHECK(rendered("{{parameters.z | optional}}", EscapeContext::header, parameters) == "left out");
}

}  // namespace celld::providers::mappings
