#include <chrono>
#include <string>

#include "src/json/json.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/machine.hpp"

using namespace celld::json;

namespace {

Document accepted(std::string_view text, const ParseLimits& limits = {}) {
  auto result = parse(text, limits);
  if (const auto* error = std::get_if<SyntaxError>(&result)) FAIL(error->detail);
  return std::get<Document>(std::move(result));
}

SyntaxError refused(std::string_view text, const ParseLimits& limits = {}) {
  auto result = parse(text, limits);
  if (std::holds_alternative<Document>(result)) FAIL("accepted: " << text.substr(0, 80));
  return std::get<SyntaxError>(std::move(result));
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

}  // namespace

TEST_CASE("a document survives parsing and dumping") {
  const std::string text =
      R"({"array":[1,-2,2.5,"x",null,true,false,[],{}],"deep":{"a":{"b":[{"c":1}]}},"e":"\u00e9\n"})";
  const Document document = accepted(text);
  CHECK(document.number_faults.empty());
  CHECK(document.value == Value::parse(text));
  CHECK(dump(document.value) ==
        R"({"array":[1,-2,2.5,"x",null,true,false,[],{}],"deep":{"a":{"b":[{"c":1}]}},"e":"é\n"})");
}

TEST_CASE("a document may be any value, with whitespace around it") {
  CHECK(accepted(" 7 \n").value == 7);
  CHECK(accepted("\"x\"").value == "x");
  CHECK(accepted("null").value.is_null());
  CHECK(accepted("\t[ ]\r\n").value.is_array());
}

TEST_CASE("a text that is not JSON is refused, with the position") {
  CHECK(refused("").detail == "line 1, column 1: the document is empty");
  CHECK(refused(" \n ").detail == "line 2, column 2: the document is empty");
  CHECK(refused("{").detail == "line 1, column 2: unexpected end of the document");
  CHECK(refused("{\"a\":").detail == "line 1, column 6: unexpected end of the document");
  CHECK(refused("\"abc").detail == "line 1, column 5: unexpected end of the document");
  CHECK(refused("{\"a\": x}").detail == "line 1, column 7: unexpected \"x\"");
  CHECK(refused("{\n  \"é\": ,\n}").detail == "line 2, column 8: unexpected \",\"");
  CHECK(refused("{“a”: 1}").detail == "line 1, column 2: unexpected \"“\"");
  CHECK(refused("[\"🌍\", x]").detail == "line 1, column 7: unexpected \"x\"");
  CHECK(refused(R"(["\ud800"])").detail.find("half of a surrogate pair") != std::string::npos);
  CHECK(refused(R"(["surrogate \x"])").detail.find("half of") == std::string::npos);
  CHECK(refused(R"(["\udc00"])").detail.find("half of a surrogate pair") != std::string::npos);
  CHECK(refused("\"a\nb\"").detail == "line 1, column 3: control characters must be escaped");
  for (const auto* text : {"[1,]", "{\"a\":1,}", "{a:1}",   "'a'",         "[01]",
                           "[+1]", "[.5]",       "[1.]",    "NaN",         "[Infinity]",
                           "tru",  "// x\n1",    "\"\\x\"", "\"\\ud800\"", "\"\\udc00\\ud800\"",
                           "]",    "{\"a\"}",    "-",       "1e",          "\x01"})
    CHECK_FALSE(refused(text).detail.empty());
}

TEST_CASE("a text may follow the grammar of JSON and be refused") {
  for (const std::string text :
       {R"({"a":1,"a":2})", "[[[1]]]", " 1 ", R"({"a":1e999,"a":[-1e999,18446744073709551616]})"}) {
    CHECK(follows_grammar(text));
  }
  CHECK(follows_grammar(std::string(100, '[') + "1e999" + std::string(100, ']')));
  for (const std::string text :
       {"", "{", R"({"a":1,"a" 2})", "1 2", "\"\xff\"", R"({"a":1e999,"a":})", "[1e999e5]",
        "[1,1e999", "[01e999]", "[1.e999]", "[+1e999]"}) {
    CHECK_FALSE(follows_grammar(text));
  }
  CHECK_FALSE(follows_grammar(std::string_view("1\0 2", 4)));
}

TEST_CASE("no refusal shows a parser's own text") {
  for (const auto* text : {"", "{", "[1,]", "\"\xff\"", "1 2", "[1e999,]", "\"\\ud800\""}) {
    const std::string detail = refused(text).detail;
    CHECK(detail.find("json.exception") == std::string::npos);
    CHECK(detail.find("syntax error") == std::string::npos);
  }
}

TEST_CASE("text after the document is refused, as is a NUL") {
  CHECK(refused("1 2").detail == "line 1, column 3: unexpected text after the document");
  CHECK(refused("{} {}").offset == 3);
  CHECK(refused("{}x").detail == "line 1, column 3: unexpected text after the document");
  using namespace std::string_view_literals;
  CHECK(refused("{}\0garbage"sv).detail == "line 1, column 3: NUL characters are not allowed");
  CHECK(refused("\0"sv).offset == 0);
  CHECK(refused("{\"a\0b\":1}"sv).offset == 3);
}

TEST_CASE("an escaped NUL is refused in strings and in keys") {
  CHECK(refused(R"({"a":"x\u0000y"})").detail ==
        "line 1, column 15: a string contains a NUL character");
  CHECK(refused(R"({"x\u0000y":1})").detail == "line 1, column 11: a key contains a NUL character");
}

TEST_CASE("a duplicate key is refused at any depth") {
  CHECK(refused(R"({"a":1,"b":2,"a":3})").detail == "line 1, column 16: duplicate key \"a\"");
  CHECK_FALSE(refused(R"({"x":[{"k":{"a":1,"a":1}}]})").detail.empty());
  // The same key, escaped differently.
  CHECK_FALSE(refused(R"({"a":1,"\u0061":2})").detail.empty());
  CHECK(accepted(R"([{"a":1},{"a":1},{"b":{"a":1}}])").value.size() == 3);
}

TEST_CASE("invalid UTF-8 is refused") {
  CHECK(refused("\"\xff\xfe\"").detail == "line 1, column 2: invalid UTF-8");
  CHECK(refused("{\"\xc3\":1}").offset == 2);
  for (const auto* text : {"\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
                           "\"\xe2\x82\"", "\"\x80\"", "\xff"})
    CHECK(refused(text).detail.find("UTF-8") != std::string::npos);
  CHECK(accepted("\"\xf0\x9f\x8c\x8d\xe2\x82\xac\xc3\xa9\"").value == "🌍€é");
}

TEST_CASE("the depth is limited") {
  CHECK(accepted(nested(64)).value.is_array());
  CHECK(refused(nested(65)).detail ==
        "line 1, column 65: the document is nested deeper than 64 levels");
  CHECK_FALSE(refused(nested(500'000)).detail.empty());
  CHECK_FALSE(refused(std::string(500'000, '[')).detail.empty());
  CHECK(accepted("[[1]]", {.depth_max = 2}).value.size() == 1);
  CHECK_FALSE(refused("[{\"a\":[]}]", {.depth_max = 2}).detail.empty());
}

TEST_CASE("the number of values is limited") {
  CHECK(accepted("[1,2,[]]", {.nodes_max = 4}).value.size() == 3);
  CHECK(refused("[1,2,{}]", {.nodes_max = 3}).detail ==
        "line 1, column 6: the document has more than 3 values");
  CHECK(refused("[1,2,{}]", {.nodes_max = 3}).too_many_values);
  CHECK_FALSE(refused("[1,2,{]", {.nodes_max = 4}).too_many_values);
  std::string many = "[";
  while (many.size() < (1 << 20)) many += "{},";
  CHECK_FALSE(refused(many + "0]").detail.empty());
}

TEST_CASE("integers of 64 bits are kept exactly") {
  const Value value =
      accepted("[18446744073709551615,9223372036854775807,-9223372036854775808,-0]").value;
  CHECK(value[0].get<std::uint64_t>() == UINT64_MAX);
  CHECK(value[1].get<std::int64_t>() == INT64_MAX);
  CHECK(value[2].get<std::int64_t>() == INT64_MIN);
}

TEST_CASE("numbers out of range are collected with their pointers and read as null") {
  const Document document = accepted(
      R"({"big":18446744073709551616,"in":{"a/b":[1,-9223372036854775809,"2",1e400,-1e999]},)"
      R"("ok":1e308,"s":"\"1e400","tiny":1e-400,"z":2e400})");
  CHECK(document.number_faults == std::vector<Fault>{{"/big", "is a number out of range"},
                                                     {"/in/a~1b/1", "is a number out of range"},
                                                     {"/in/a~1b/3", "is a number out of range"},
                                                     {"/in/a~1b/4", "is a number out of range"},
                                                     {"/z", "is a number out of range"}});
  CHECK(document.value["big"].is_null());
  CHECK(document.value["in"]["a/b"][3].is_null());
  CHECK(document.value["in"]["a/b"][0] == 1);
  CHECK(document.value["ok"] == 1e308);
  CHECK(document.value["s"] == "\"1e400");
  CHECK(document.value["tiny"] == 0.0);

  CHECK(accepted("1e999").number_faults == std::vector<Fault>{{"", "is a number out of range"}});
  CHECK(accepted("[" + std::string(400, '9') + "]").number_faults.size() == 1);
}

TEST_CASE("the faults of numbers out of range are bounded") {
  std::string many = "[";
  while (many.size() < 290'000) many += "1e999,";
  const test::Stopwatch watch;
  const Document document = accepted(many + "0]");
  CHECK(document.number_faults.size() == 101);
  CHECK(document.number_faults.back() == Fault{"", "has more numbers out of range"});
  CHECK(document.value[48'000].is_null());
  CHECK(watch.is_within(std::chrono::seconds(5), "reading the document"));

  const std::string key(400'000, 'k');
  const Document deep = accepted("{\"" + key + "\":[1e999,1e999,1e999]}");
  CHECK(deep.number_faults.size() == 2);
}

TEST_CASE("a syntax error after a number out of range is reported at its position") {
  CHECK(refused("[1e400, 1e400, x]").detail == "line 1, column 16: unexpected \"x\"");
  CHECK(refused("{\"a\":1e400,\"a\":1}").detail == "line 1, column 14: duplicate key \"a\"");
}

TEST_CASE("a number with more text after it is no number") {
  refused("[1e999e5]");
  refused("1e400x");
}

TEST_CASE("dumping never throws") {
  CHECK(dump(Value("\xff")) == "\"\xef\xbf\xbd\"");
  CHECK(dump(Value(0.0 / 0.0)) == "null");
}

TEST_CASE("quoting escapes, and replaces invalid UTF-8") {
  CHECK(quote("plain text") == "\"plain text\"");
  CHECK(quote("") == "\"\"");
  CHECK(quote("a\"b\\c\n\x01") == "\"a\\\"b\\\\c\\n\\u0001\"");
  CHECK(quote("é") == "\"é\"");
  CHECK(quote("a\xff") == "\"a\xef\xbf\xbd\"");
  std::string text = "x: ";
  append_quoted(text, "y");
  CHECK(text == "x: \"y\"");
}

TEST_CASE("pointers are escaped") {
  CHECK(pointer_to("", "a") == "/a");
  CHECK(pointer_to("/a", "b/c~d") == "/a/b~1c~0d");
  CHECK(pointer_to("/a", std::size_t{3}) == "/a/3");
}
