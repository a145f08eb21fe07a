// The text in which a step keeps an operation.
#include "src/providers/http/operation.hpp"

#include <chrono>
#include <string>

#include "tests/unit/catch.hpp"

namespace celld::providers {

TEST_CASE("an operation is read as it was written") {
  Operation operation;
  operation.request = 3;
  operation.has_begun = true;
  operation.left = cells::milliseconds{12'345};
  operation.properties = {{"id", R"({"a":[1,null,"\u00e9"]})"}, {"quote\"", "1.5"}};
  const auto again = parse_operation(to_text(operation));
  REQUIRE(again);
  CHECK(again->request == 3);
  CHECK(again->has_begun);
  CHECK(again->left == operation.left);
  CHECK(again->properties.at("quote\"") == "1.5");
  CHECK(parse_operation(to_text(Operation{})) == Operation{});
  operation.properties = {{"id", "7"}};
  operation.due = cells::milliseconds{86'400'000};
  operation.url = "https://cloud.example/ops/7?a=\"b\"";
  CHECK(parse_operation(to_text(operation)) == operation);
}

TEST_CASE("the largest operation that celld keeps is read as it was written") {
  constexpr std::size_t depth = 64;  // Of an answer that is a property as a whole.
  Operation operation;
  operation.request = 15;
  operation.has_begun = true;
  operation.properties = {{"all", std::string(depth, '[') + std::string(depth, ']')}};
  operation.url = "https://cloud.example/";
  operation.url.resize(8192, 'x');
  CHECK(parse_operation(to_text(operation)) == operation);
}

TEST_CASE("an operation is kept however long the machine has run") {
  Operation operation;
  operation.has_begun = true;
  operation.due = std::chrono::hours{10 * 365 * 24};
  CHECK(parse_operation(to_text(operation)) == operation);
}

TEST_CASE("an operation of an earlier version is polled at once") {
  const auto operation =
      parse_operation(R"({"request":1,"has_begun":true,"left_ms":5,"properties":{"a":1}})");
  REQUIRE(operation);
  CHECK(operation->left == cells::milliseconds{5});
  CHECK_FALSE(operation->due);
}

TEST_CASE("no other text is an operation") {
  for (const char* text : {"", "{}", "[]", "an id", R"({"request":0,"has_begun":true})",
                           R"({"request":16,"has_begun":true,"left_ms":1,"properties":{}})",
                           R"({"request":0,"has_begun":true,"left_ms":-1,"properties":{}})",
                           R"({"request":0,"has_begun":true,"left_ms":1,"properties":[]})",
                           R"({"request":0,"has_begun":1,"left_ms":1,"properties":{}})",
                           R"({"request":0,"has_begun":true,"left_ms":1,"properties":{},)"
                           R"("due_ms":-1})"}) {
    INFO(text);
    CHECK_FALSE(parse_operation(text));
  }
}

}  // namespace celld::providers
