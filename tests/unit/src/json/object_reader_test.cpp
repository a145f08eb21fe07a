#include <string>
#include <vector>

#include "src/json/json.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::json;

namespace {

Document document(std::string_view text) {
  return std::get<Document>(parse(text));
}

}  // namespace

TEST_CASE("members of the right type are read") {
  const Document doc = document(
      R"({"s":"text","i":-3,"u":18446744073709551615,"n":2.5,"b":true,"o":{"x":1},"a":[1],"z":null})");
  std::vector<Fault> faults;
  ObjectReader reader(doc.value, "/job", faults);
  REQUIRE(reader.is_object());
  CHECK(reader.string("s") == "text");
  CHECK(reader.integer("i", -10, 10) == -3);
  CHECK(reader.number("n", 0, 10) == 2.5);
  CHECK(reader.number("i", -10, 10) == -3.0);
  CHECK(reader.boolean("b") == true);
  CHECK(reader.object("o")->size() == 1);
  CHECK(reader.array("a")->size() == 1);
  CHECK(reader.any("u")->get<std::uint64_t>() == UINT64_MAX);
  CHECK(reader.has("z"));
  CHECK(reader.any("z")->is_null());
  reader.finish();
  CHECK(faults.empty());
}

TEST_CASE("an absent member is a fault only if it is required") {
  const Document doc = document("{}");
  std::vector<Fault> faults;
  ObjectReader reader(doc.value, "", faults);
  CHECK_FALSE(reader.has("s"));
  CHECK_FALSE(reader.string("s"));
  CHECK_FALSE(reader.integer("i", 0, 1));
  CHECK(reader.object("o") == nullptr);
  CHECK(faults.empty());
  reader.require({"s", "i"});
  CHECK(faults == std::vector<Fault>{{"/s", "is required"}, {"/i", "is required"}});
}

TEST_CASE("each member of a wrong type is a fault with its pointer") {
  const Document doc =
      document(R"({"s":1,"i":"1","n":"x","b":0,"o":[],"a":{},"f":3.0,"t":true,"z":null})");
  std::vector<Fault> faults;
  ObjectReader reader(doc.value, "/p", faults);
  CHECK_FALSE(reader.string("s"));
  CHECK_FALSE(reader.integer("i", 1, 9));
  CHECK_FALSE(reader.number("n", 0, 0.5));
  CHECK_FALSE(reader.boolean("b"));
  CHECK(reader.object("o") == nullptr);
  CHECK(reader.array("a") == nullptr);
  CHECK_FALSE(reader.integer("f", 1, 9));
  CHECK_FALSE(reader.integer("t", 0, 9));
  CHECK_FALSE(reader.string("z"));
  reader.finish();
  CHECK(faults == std::vector<Fault>{{"/p/s", "must be a string"},
                                     {"/p/i", "must be an integer from 1 to 9"},
                                     {"/p/n", "must be a number from 0 to 0.5"},
                                     {"/p/b", "must be true or false"},
                                     {"/p/o", "must be an object"},
                                     {"/p/a", "must be an array"},
                                     {"/p/f", "must be an integer from 1 to 9"},
                                     {"/p/t", "must be an integer from 0 to 9"},
                                     {"/p/z", "must be a string"}});
}

TEST_CASE("lengths and ranges are checked") {
  const Document doc =
      document(R"({"e":"","s":"ab","i":4294967297,"u":18446744073709551615,"n":-0.5})");
  std::vector<Fault> faults;
  ObjectReader reader(doc.value, "", faults);
  CHECK_FALSE(reader.string("e", 1));
  CHECK_FALSE(reader.string("s", 3));
  CHECK_FALSE(reader.string("s", 0, 1));
  CHECK(reader.string("s", 2, 2) == "ab");
  CHECK_FALSE(reader.integer("i", 0, INT32_MAX));
  CHECK_FALSE(reader.integer("u", INT64_MIN, INT64_MAX));
  CHECK_FALSE(reader.number("n", 0, 1));
  CHECK(faults.size() == 6);
  CHECK(faults[0] == Fault{"/e", "must not be empty"});
  CHECK(faults[1] == Fault{"/s", "must have at least 3 bytes"});
  CHECK(faults[2] == Fault{"/s", "must have at most 1 bytes"});
}

TEST_CASE("members that were not read are unknown") {
  const Document doc = document(R"({"a":1,"b/c":2,"d":3})");
  std::vector<Fault> faults;
  ObjectReader reader(doc.value, "/x", faults);
  reader.integer("a", 0, 9);
  reader.finish();
  CHECK(faults == std::vector<Fault>{{"/x/b~1c", "is unknown"}, {"/x/d", "is unknown"}});
}

TEST_CASE("at most a hundred unknown members are faults") {
  std::string text = R"({"a":1)";
  for (int n = 0; n < 200; ++n) text += ",\"x" + std::to_string(n) + "\":1";
  const Document doc = document(text + "}");
  std::vector<Fault> faults;
  ObjectReader reader(doc.value, "", faults);
  reader.integer("a", 0, 9);
  reader.finish();
  CHECK(faults.size() == 100);
}

TEST_CASE("a value that is not an object is one fault and reads as empty") {
  for (const auto* text : {"[]", "1", "null", "\"x\""}) {
    const Document doc = document(text);
    std::vector<Fault> faults;
    ObjectReader reader(doc.value, "/x", faults);
    CHECK_FALSE(reader.is_object());
    CHECK_FALSE(reader.has("a"));
    CHECK_FALSE(reader.string("a"));
    reader.require({"a"});
    reader.finish();
    CHECK(faults == std::vector<Fault>{{"/x", "must be an object"}});
  }
}

TEST_CASE("a number out of range is not reported as a wrong type as well") {
  const Document doc = document(R"({"i":1e999,"n":18446744073709551616,"s":null})");
  std::vector<Fault> faults = doc.number_faults;
  ObjectReader reader(doc.value, "", faults);
  CHECK_FALSE(reader.integer("i", 0, 9));
  CHECK_FALSE(reader.integer("n", 0, 9));
  CHECK_FALSE(reader.string("s"));
  reader.finish();
  CHECK(faults == std::vector<Fault>{{"/i", "is a number out of range"},
                                     {"/n", "is a number out of range"},
                                     {"/s", "must be a string"}});
}
