// Requests of a mapping, to the byte.
#include "src/providers/http/mapping/request.hpp"

#include <string>

#include "tests/unit/src/providers/http/mapping/fixture.hpp"

namespace celld::providers::mappings {
namespace {

using test::a_mapping;
using test::creating;
using test::job_document;

Scope scope_of(const Mapping& mapping) {
  return {.document = job_document(), .secrets = values_of(mapping.secrets)};
}

std::variant<Rendered, Refusal> rendering(const json::Value& request) {
  const auto mapping = a_mapping(creating(request));
  return render(mapping.actions.at("create")[0], scope_of(mapping));
}

Rendered made(const json::Value& request) {
  auto result = rendering(request);
  if (const auto* refusal = std::get_if<Refusal>(&result)) FAIL(refusal->text);
  return std::get<Rendered>(std::move(result));
}

std::string refused(const json::Value& request) {
  const auto result = rendering(request);
  const auto* refusal = std::get_if<Refusal>(&result);
  return refusal == nullptr ? "" : refusal->text;
}

std::string body_of(const json::Value& body) {
  return made({{"method", "PUT"}, {"path", ""}, {"body", body}}).body.value();
}

std::string target_of(const std::string& path) {
  return made({{"method", "GET"}, {"path", path}}).target;
}

std::string path_refusal(const std::string& path) {
  return refused({{"method", "GET"}, {"path", path}});
}

}  // namespace

TEST_CASE("a path has the job's values in its segments") {
  CHECK(target_of("/zones/{{entity.id}}.") == "/zones/example.com.");
  CHECK(target_of("/a/{{parameters.kind}}-{{parameters.ttl}}/") == "/a/Native-300/");
  CHECK(target_of("") == "");
  CHECK(target_of("/") == "/");
  CHECK(target_of("/%2F/x:y@z/") == "/%2F/x:y@z/");
  CHECK(target_of("/{{'a/b'}}") == "/a%2Fb");
}

TEST_CASE("no value makes a segment empty or a way up") {
  CHECK(path_refusal("/zones/{{parameters.empty}}") == "a segment of the path would be empty");
  CHECK(path_refusal("/zones/{{parameters.empty}}/x") == "a segment of the path would be empty");
  CHECK(path_refusal("/zones/{{parameters.empty}}.") == "a segment of the path would be `.`");
  CHECK(path_refusal("/zones/.{{parameters.empty}}.") == "a segment of the path would be `..`");
  CHECK(path_refusal("/a%2F.{{parameters.empty}}.") == "a segment of the path would be `a%2F..`");
  CHECK(path_refusal("/zones/{{parameters.dots}}") ==
        "`parameters.dots` has `.` or `..` as part of a path");
  CHECK(path_refusal("/zones/{{parameters.odd}}") == "`parameters.odd` has a control character");
  CHECK(path_refusal("/zones/{{entity.subtype}}") == "`entity.subtype` is missing");
}

TEST_CASE("a query has names and values, and leaves out what is optional") {
  const auto request = made({{"method", "GET"},
                             {"path", "/zones"},
                             {"query",
                              {{"a b", "x&{{parameters.odd}}"},
                               {"n", 3},
                               {"on", true},
                               {"sub", "{{entity.subtype | optional}}"}}}});
  CHECK(request.target == "/zones?a%20b=x%26a%2Fb%20%22c%22%0A&n=3&on=true");
  CHECK_FALSE(request.body);
  CHECK(request.headers.empty());
  CHECK(made({{"method", "GET"},
              {"path", "/zones"},
              {"query", {{"sub", "{{entity.subtype | optional}}"}}}})
            .target == "/zones");
}

TEST_CASE("headers are templates, and cannot end their line") {
  const auto request = made({{"method", "GET"},
                             {"path", ""},
                             {"headers",
                              {{"Authorization", "Basic {{secrets.key | base64}}"},
                               {"X-Sub", "{{entity.subtype | optional}}"},
                               {"X-Ttl", "{{parameters.ttl}}"}}}});
  using Headers = std::vector<std::pair<std::string, std::string>>;
  CHECK(request.headers == Headers{{"Authorization", "Basic czNjcmV0L2tleSsx"}, {"X-Ttl", "300"}});
  CHECK(
      refused({{"method", "GET"}, {"path", ""}, {"headers", {{"X-Odd", "{{parameters.odd}}"}}}}) ==
      "`parameters.odd` has a control character");
}

TEST_CASE("an expression alone keeps its JSON value, and one in a text becomes text") {
  CHECK(body_of({{"ttl", "{{parameters.ttl}}"}}) == R"({"ttl":300})");
  CHECK(body_of({{"ttl", "{{parameters.ttl}} s"}}) == R"({"ttl":"300 s"})");
  CHECK(body_of({{"ttl", "{{parameters.ttl | string}}"}}) == R"({"ttl":"300"})");
  CHECK(body_of("{{parameters.object}}") == R"({"a":{"b":[true,null]}})");
  CHECK(body_of({"{{parameters.list}}", "{{parameters.no}}", 1.5, nullptr}) ==
        R"([[1,2],null,1.5,null])");
  CHECK(body_of({{"name", "{{parameters.odd}}!"}}) == R"({"name":"a/b \"c\"\n!"})");
  CHECK(body_of({{"x", "{{'{{'}}"}}) == R"({"x":"{{"})");
}

TEST_CASE("a body leaves out optional members and elements") {
  CHECK(body_of({{"a", "{{entity.subtype | optional}}"},
                 {"b", {{"c", "{{properties.gone|optional}}"}}}}) == R"({"b":{}})");
  CHECK(body_of({"{{entity.subtype | optional}}", "x"}) == R"(["x"])");
  CHECK(body_of({{"a", "{{entity.subtype | default 'primary'}}"}}) == R"({"a":"primary"})");
}

TEST_CASE("a body without a template is sent as it is") {
  CHECK(body_of({{"a", {1, {{"b", nullptr}}}}}) == R"({"a":[1,{"b":null}]})");
  CHECK(body_of(false) == "false");
}

TEST_CASE("a body has a type, which a header may change") {
  using Headers = std::vector<std::pair<std::string, std::string>>;
  CHECK(made({{"method", "POST"}, {"path", ""}, {"body", 1}}).headers ==
        Headers{{"Content-Type", "application/json"}});
  CHECK(made({{"method", "PATCH"},
              {"path", ""},
              {"body", json::Value::object()},
              {"headers", {{"content-type", "application/merge-patch+json"}}}})
            .headers == Headers{{"content-type", "application/merge-patch+json"}});
}

TEST_CASE("a form is encoded like a query") {
  const auto request = made(
      {{"method", "POST"}, {"path", ""}, {"form", {{"a", "{{parameters.odd}}&"}, {"b", false}}}});
  CHECK(request.body == "a=a%2Fb%20%22c%22%0A%26&b=false");
  REQUIRE(request.headers.size() == 1);
  CHECK(request.headers[0].second == "application/x-www-form-urlencoded");
}

TEST_CASE("what is missing is refused by its name") {
  CHECK(refused({{"method", "PUT"}, {"path", ""}, {"body", {{"a", "{{parameters.gone}}"}}}}) ==
        "`parameters.gone` is missing");
  CHECK(refused({{"method", "PUT"}, {"path", ""}, {"body", {"x{{parameters.list}}"}}}) ==
        "`parameters.list` is an array, not a string, a number or a boolean");
}

TEST_CASE("a request has a bounded size") {
  const auto mapping = a_mapping(creating({{"method", "POST"},
                                           {"path", "/{{parameters.p}}"},
                                           {"body", "{{parameters.b}}"},
                                           {"headers", {{"X", "{{parameters.h}}"}}}}));
  const auto refusal = [&](std::size_t path, std::size_t header, std::size_t body) {
    auto scope = scope_of(mapping);
    scope.document["parameters"] = {{"p", std::string(path, 'p')},
                                    {"h", std::string(header, 'h')},
                                    {"b", std::string(body, 'b')}};
    const auto result = render(mapping.actions.at("create")[0], scope);
    const auto* refused_for = std::get_if<Refusal>(&result);
    return refused_for == nullptr ? "" : refused_for->text;
  };
  CHECK(refusal(8191, 8192, (1 << 20) - 2).empty());
  CHECK(refusal(8192, 1, 1) == "the URL would have more than 8 KiB");
  CHECK(refusal(1, 8193, 1) == "the header X would have more than 8 KiB");
  CHECK(refusal(1, 1, (1 << 20) - 1) == "the body would have more than 1 MiB");
}

TEST_CASE("a query counts towards the size of its URL") {
  const auto mapping = a_mapping(
      creating({{"method", "GET"}, {"path", "/"}, {"query", {{"q", "{{parameters.q}}"}}}}));
  const auto is_refused = [&](std::size_t bytes) {
    auto scope = scope_of(mapping);
    scope.document["parameters"] = {{"q", std::string(bytes, 'q')}};
    return std::holds_alternative<Refusal>(render(mapping.actions.at("create")[0], scope));
  };
  CHECK_FALSE(is_refused(8192 - 4));  // After "/?q=".
  CHECK(is_refused(8192 - 3));
}

TEST_CASE("all requests are checked before the first is made") {
  const json::Value first = {
      {"method", "POST"}, {"path", "/things"}, {"answer", {{"properties", {{"id", "/id"}}}}}};
  const auto refused_of = [&](const char* path) {
    const auto mapping = a_mapping(creating({first, {{"method", "PUT"}, {"path", path}}}));
    return check_all(mapping.actions.at("create"), scope_of(mapping));
  };
  CHECK_FALSE(refused_of("/things/{{properties.id}}"));
  const auto refused_second = refused_of("/things/{{properties.name}}");
  REQUIRE(refused_second);
  CHECK(refused_second->index == 1);
  CHECK_FALSE(refused_second->is_poll);
  CHECK(refused_second->refusal.text == "`properties.name` is missing");
}

TEST_CASE("polls are checked before the first request, too") {
  const auto refused_of = [&](const char* path) {
    const auto mapping = a_mapping(creating(
        {{{"method", "POST"},
          {"path", "/things"},
          {"answer", {{"properties", {{"id", "/id"}}}}},
          {"poll",
           {{"path", path}, {"answer", {{"pending", {202}}, {"properties", {{"ip", "/ip"}}}}}}}},
         {{"method", "PUT"}, {"path", "/names/{{properties.ip}}"}}}));
    return check_all(mapping.actions.at("create"), scope_of(mapping));
  };
  CHECK_FALSE(refused_of("/operations/{{properties.id}}"));
  const auto refused_poll = refused_of("/operations/{{properties.other}}");
  REQUIRE(refused_poll);
  CHECK(refused_poll->index == 0);
  CHECK(refused_poll->is_poll);
}

}  // namespace celld::providers::mappings
