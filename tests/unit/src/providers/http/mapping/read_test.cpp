// Mappings in the configuration: all faults, each with its pointer.
#include "src/providers/http/mapping/read.hpp"

#include <algorithm>
#include <string>

#include "tests/unit/src/providers/http/mapping/fixture.hpp"

namespace celld::providers::mappings {
namespace {

using test::a_mapping;
using test::creating;
using test::mapping_faults;

/// "pointer: detail" of the only fault.
std::string fault_of(const json::Value& mapping) {
  const auto faults = mapping_faults(mapping);
  if (faults.size() != 1) return std::to_string(faults.size()) + " faults";
  return faults[0].pointer + ": " + faults[0].detail;
}

/// The fault of a request with these members beside a method and a path.
std::string request_fault(const json::Value& members) {
  json::Value request{{"method", "POST"}, {"path", "/x"}};
  request.update(members);
  auto fault = fault_of(creating(request));
  const std::string common = "/m/actions/create";
  return fault.starts_with(common) ? fault.substr(common.size()) : fault;
}

/// So many members, each a text.
json::Value members(int count) {
  json::Value object = json::Value::object();
  for (int i = 0; i < count; ++i) object["X-" + std::to_string(i)] = "v";
  return object;
}

std::string path_fault(const std::string& path) {
  return request_fault({{"path", path}});
}

}  // namespace

TEST_CASE("an action has one request, several or none") {
  const auto mapping = a_mapping(
      {{"actions",
        {{"one", {{"method", "GET"}, {"path", "/"}}},
         {"two", {{{"method", "PUT"}, {"path", "/a"}}, {{"method", "PUT"}, {"path", "/b"}}}},
         {"none", json::Value::array()}}}});
  CHECK(mapping.actions.at("one").size() == 1);
  CHECK(mapping.actions.at("two").size() == 2);
  CHECK(mapping.actions.at("none").empty());
}

TEST_CASE("an undo has the requests of an action that the mapping has") {
  const json::Value request{{"method", "DELETE"}, {"path", "/{{entity.id}}"}};
  const auto mapping = a_mapping({{"actions", {{"create", request}, {"delete", request}}},
                                  {"undo", {{"create", {request, request}}}}});
  CHECK(mapping.undo.at("create").size() == 2);
  CHECK_FALSE(mapping.undo.contains("delete"));
  CHECK(fault_of({{"actions", {{"create", request}}}, {"undo", {{"delete", request}}}}) ==
        "/m/undo/delete: is not a member of `actions`");
  CHECK(fault_of({{"actions", {{"create", request}}}, {"undo", json::Value::object()}}) ==
        "/m/undo: must have at least one member");
}

TEST_CASE("every fault of a mapping has its pointer") {
  const auto faults =
      mapping_faults({{"secrets", {{"a b", "x"}, {"gone", "env:GONE"}}},
                      {"undo", 1},
                      {"extra", 1},
                      {"actions",
                       {{"create", {{"method", "HEAD"}, {"path", "x"}, {"poll", 1}, {"bad", 1}}},
                        {"delete", {{{"method", "PUT"}}, 7}}}}});
  const auto has = [&](const std::string& pointer) {
    return std::count_if(faults.begin(), faults.end(),
                         [&](const auto& fault) { return fault.pointer == pointer; }) == 1;
  };
  for (const char* pointer :
       {"/m/secrets/a b", "/m/secrets/gone", "/m/undo", "/m/extra", "/m/actions/create/method",
        "/m/actions/create/path", "/m/actions/create/poll", "/m/actions/create/bad",
        "/m/actions/delete/0/path", "/m/actions/delete/1"}) {
    INFO(pointer);
    CHECK(has(pointer));
  }
}

TEST_CASE("a mapping has actions of bounded names and numbers") {
  CHECK(fault_of(json::Value::object()) == "/m/actions: is required");
  CHECK(fault_of({{"actions", json::Value::object()}}) ==
        "/m/actions: must have at least one member");
  CHECK(fault_of({{"actions", {{"", json::Value::array()}}}}) ==
        "/m/actions/: must have a name of 1 to 63 bytes");
  CHECK(fault_of({{"actions", {{std::string(64, 'a'), json::Value::array()}}}})
            .ends_with("must have a name of 1 to 63 bytes"));
  json::Value requests = json::Value::array();
  for (int i = 0; i < 17; ++i) requests.push_back({{"method", "GET"}, {"path", ""}});
  CHECK(fault_of({{"actions", {{"a", requests}}}}) ==
        "/m/actions/a: must have at most 16 requests");
}

TEST_CASE("a mapping has at most 32 secrets") {
  json::Value mapping = {{"actions", {{"a", json::Value::array()}}}};
  for (int i = 0; i < 32; ++i) mapping["secrets"]["s" + std::to_string(i)] = "x";
  CHECK(mapping_faults(mapping).empty());
  mapping["secrets"]["more"] = "x";
  CHECK(fault_of(mapping) == "/m/secrets: must have at most 32 members");
}

TEST_CASE("a secret of a mapping is not empty") {
  CHECK(fault_of({{"secrets", {{"key", ""}}}, {"actions", {{"a", json::Value::array()}}}}) ==
        "/m/secrets/key: must not be empty");
}

TEST_CASE("a mapping has at most 100 actions") {
  json::Value mapping;
  for (int i = 0; i < 100; ++i) mapping["actions"]["a" + std::to_string(i)] = json::Value::array();
  CHECK(mapping_faults(mapping).empty());
  mapping["actions"]["more"] = json::Value::array();
  CHECK(fault_of(mapping) == "/m/actions: must have at most 100 members");
}

TEST_CASE("templates are checked where they stand") {
  CHECK(request_fault({{"body", {{"a", {"x", "{{entity.name}}"}}}}})
            .starts_with("/body/a/1: has the unknown name `entity.name`; names begin with"));
  CHECK(request_fault({{"query", {{"q", "{{a"}}}}) == "/query/q: has `{{` without `}}`");
  CHECK(request_fault({{"headers", {{"X-A", "{{secrets.none}}"}}}})
            .starts_with("/headers/X-A: has the unknown secret `secrets.none`"));
  CHECK(request_fault({{"headers", {{"X-A", "{{parameters}}"}}}}) ==
        "/headers/X-A: has the object `parameters`, which cannot stand in a header");
  CHECK(request_fault({{"query", {{"q", "{{entity}}"}}}}) ==
        "/query/q: has the object `entity`, which cannot stand in a query or a form");
  CHECK(request_fault({{"body", "a {{properties}}"}}) ==
        "/body: has the object `properties`, which cannot stand in a text");
  CHECK(mapping_faults(creating({{"method", "POST"},
                                 {"path", ""},
                                 {"query", {{"q", "{{entity | json}}"}}},
                                 {"body", "{{entity}}"}}))
            .empty());
  CHECK(request_fault({{"body", {{"{{entity.id}}", 1}}}}) ==
        "/body/{{entity.id}}: must not have a template in its name");
  CHECK(request_fault({{"query", {{"{{entity.id}}", 1}}}}) ==
        "/query/{{entity.id}}: must not have a template in its name");
}

TEST_CASE("a filter is refused where it fits no value") {
  CHECK(request_fault({{"body", "{{parameters | lower}}"}}) ==
        "/body: has the object `parameters`, to which only the filter json applies");
  CHECK(request_fault({{"query", {{"q", "{{entity | lower | json}}"}}}}) ==
        "/query/q: has the object `entity`, to which only the filter json applies");
  CHECK(request_fault({{"body", "{{entity.id | join ','}}"}}) ==
        "/body: applies the filter join to `entity.id`, which is never an array");
  CHECK(mapping_faults(creating({{"method", "POST"},
                                 {"path", "/{{parameters.list | join ','}}"},
                                 {"query", {{"q", "{{parameters | json | lower}}"}}},
                                 {"body", "{{properties | default 1}}"}}))
            .empty());
}

TEST_CASE("a constant or a default is refused where it cannot stand") {
  CHECK(path_fault("/a/{{'..'}}") ==
        "/path: cannot be made: `'..'` has `.` or `..` as part of a path");
  CHECK(path_fault("/{{parameters.a | default '..'}}") ==
        "/path: cannot be made: `parameters.a` has `.` or `..` as part of a path");
  CHECK(request_fault({{"query", {{"q", "{{parameters.a | default null}}"}}}}) ==
        "/query/q: cannot be made: `parameters.a` is null, not a string, a number or a boolean");
  CHECK(request_fault({{"body", "{{'x' | number}}"}}) ==
        "/body: cannot be made: `'x'` is not a number");
  CHECK(
      mapping_faults(creating({{"method", "POST"},
                               {"path", "/{{parameters.a | default 1}}"},
                               {"query", {{"q", "{{parameters.a | default null | optional}}"}}},
                               {"body", {"{{parameters.a | default null}}", "{{'1' | number}}"}}}))
          .empty());
}

TEST_CASE("a default that would spoil its segment of a path is refused") {
  const std::string empty = "/path: would have an empty segment where values are missing";
  CHECK(path_fault("/a/{{parameters.a | default ''}}") == empty);
  CHECK(path_fault("/{{parameters.a | default '' | lower}}/b") == empty);
  CHECK(path_fault("/{{parameters.a | default ''}}{{parameters.b | default ''}}") == empty);
  CHECK(path_fault("/{{''}}") == empty);
  CHECK(path_fault("/{{parameters.a | default '' | join ','}}") != "");
  CHECK(path_fault("/.{{parameters.a | default ''}}") ==
        "/path: would have the segment `.` or `..` where values are missing");
  CHECK(mapping_faults(creating({{"method", "POST"},
                                 {"path",
                                  "/a-{{parameters.a | default ''}}/"
                                  "{{parameters.a | default ''}}{{entity.id}}/"
                                  "{{parameters.a | default 0}}"},
                                 {"query", {{"q", "{{parameters.a | default ''}}"}}}}))
            .empty());
}

TEST_CASE("only a whole value can be left out") {
  CHECK(request_fault({{"path", "/{{entity.subtype | optional}}"}}) ==
        "/path: cannot leave out a part of a path: `optional` cannot stand here");
  CHECK(request_fault({{"body", "x {{entity.subtype | optional}}"}}) ==
        "/body: must be a single expression if that is `optional`");
}

TEST_CASE("a path stays below the service's URL") {
  CHECK(path_fault("zones") == "/path: must begin with /");
  CHECK(path_fault("{{entity.id}}") == "/path: must begin with /");
  CHECK(path_fault("@evil.example/") == "/path: must begin with /");
  CHECK(path_fault("//evil.example/") == "/path: must not have an empty segment");
  CHECK(path_fault("/a//b") == "/path: must not have an empty segment");
  CHECK(path_fault("/a/../b") == "/path: must not have the segment `..`");
  CHECK(path_fault("/a/.") == "/path: must not have the segment `.`");
  CHECK(path_fault("/%2e%2E/b") == "/path: must not have the segment `%2e%2E`");
  CHECK(path_fault("/a%2F../b") == "/path: must not have the segment `a%2F..`");
  CHECK(path_fault("/..%5C") == "/path: must not have the segment `..%5C`");
  CHECK(path_fault("/a?b=c") == "/path: must not have a query: put it into `query`");
  CHECK(path_fault("/a#b").starts_with("/path: must percent-encode everything but"));
  CHECK(path_fault("/a b").starts_with("/path: must percent-encode everything but"));
  CHECK(path_fault("/a%2").starts_with("/path: must have two hexadecimal digits"));
  CHECK(path_fault("/a%zz").starts_with("/path: must have two hexadecimal digits"));
  CHECK(path_fault("/" + std::string(2048, 'a')).starts_with("/path: "));
}

TEST_CASE("headers are those that an operator may set") {
  CHECK(request_fault({{"headers", {{"Host", "x"}}}}) ==
        "/headers/Host: is a header that celld sets itself");
  CHECK(request_fault({{"headers", {{"A b", "x"}}}}) == "/headers/A b: is not a header name");
  CHECK(request_fault({{"headers", {{"X", "a\nb"}}}}).starts_with("/headers/X: must not contain"));
  CHECK(request_fault({{"headers", {{"X", "a"}, {"x", "b"}}}}) ==
        "/headers/x: is the same header as another one, spelled differently");
  CHECK(request_fault({{"headers", {{"Content-Type", "a/b"}}}}) ==
        "/headers/Content-Type: needs a `body` or a `form`");
}

TEST_CASE("a request has at most 32 headers") {
  const std::string fault = "/headers: must have at most 32 members";
  CHECK(request_fault({{"headers", members(32)}}) == "0 faults");
  CHECK(request_fault({{"headers", members(33)}}) == fault);
}

TEST_CASE("a query or a form has at most 64 members") {
  for (const char* pairs : {"query", "form"}) {
    const std::string fault = "/" + std::string(pairs) + ": must have at most 64 members";
    CHECK(request_fault({{pairs, members(64)}}) == "0 faults");
    CHECK(request_fault({{pairs, members(65)}}) == fault);
  }
}

TEST_CASE("a request has one content at most, and a GET has none") {
  CHECK(request_fault({{"body", 1}, {"form", {{"a", 1}}}}) ==
        "/form: must not be combined with `body`");
  CHECK(request_fault({{"method", "GET"}, {"body", 1}}) ==
        "/body: must not be combined with the method GET");
  CHECK(request_fault({{"method", "GET"}, {"form", {{"a", 1}}}}) ==
        "/form: must not be combined with the method GET");
  CHECK(request_fault({{"form", json::Value::object()}}) == "/form: must have at least one member");
  CHECK(request_fault({{"form", {{"a", {1}}}}}) ==
        "/form/a: must be a string, a number or a boolean");
}

TEST_CASE("a name in a query or a form has 1 to 128 bytes") {
  for (const char* pairs : {"query", "form"}) {
    INFO(pairs);
    const std::string place = "/" + std::string(pairs) + "/";
    const std::string longest(128, 'n');
    CHECK(mapping_faults(creating({{"method", "POST"}, {"path", "/x"}, {pairs, {{longest, 1}}}}))
              .empty());
    CHECK(request_fault({{pairs, {{longest + "n", 1}}}}) ==
          place + longest + "n: must have a name of 1 to 128 bytes");
    CHECK(request_fault({{pairs, {{"", 1}}}}) == place + ": must have a name of 1 to 128 bytes");
  }
}

TEST_CASE("an answer's rules are statuses and pointers") {
  const auto answer_fault = [](const json::Value& answer) {
    return request_fault({{"answer", answer}});
  };
  CHECK(answer_fault({{"done", {199}}}).starts_with("/answer/done/0: must be a status from 200"));
  CHECK(answer_fault({{"retry", {600}}}).starts_with("/answer/retry/0: must be a status"));
  CHECK(answer_fault({{"retry", {"6xx"}}}).starts_with("/answer/retry/0: must be a status"));
  CHECK(answer_fault({{"retry", {"404"}}}).starts_with("/answer/retry/0: must be a status"));
  CHECK(answer_fault({{"done", {200}}, {"reject", {409, 200}}}) ==
        "/answer/reject/1: is a status that is named twice");
  CHECK(answer_fault({{"properties", {{"id", "id"}}}}) ==
        "/answer/properties/id: must be a JSON Pointer, such as /id");
  CHECK(answer_fault({{"properties", {{"a.b", "/id"}}}}) ==
        "/answer/properties/a.b: must have a name that matches [A-Za-z0-9_-]{1,128}");
  CHECK(answer_fault({{"messages", {{"note", "info"}}}}) ==
        "/answer/messages/note: must have a JSON Pointer as its name");
  CHECK(answer_fault({{"messages", {{"/note", "loud"}}}}) ==
        "/answer/messages/~1note: must be \"info\", \"warning\" or \"error\"");
  CHECK(answer_fault({{"error", {{"code", "/~2"}}}}) ==
        "/answer/error/code: must be a JSON Pointer, such as /id");
  CHECK(answer_fault({{"error", {{"kode", "/a"}}}}) == "/answer/error/kode: is unknown");
}

TEST_CASE("an answer has at most 64 texts that become messages") {
  json::Value texts = json::Value::object();
  for (int i = 0; i < 64; ++i) texts["/" + std::to_string(i)] = "info";
  CHECK(request_fault({{"answer", {{"messages", texts}}}}) == "0 faults");
  texts["/more"] = "info";
  CHECK(request_fault({{"answer", {{"messages", texts}}}}) ==
        "/answer/messages: must have at most 64 members");
}

TEST_CASE("an answer's rules leave a status that means success") {
  const auto answer_fault = [](const json::Value& answer) {
    return request_fault({{"answer", answer}});
  };
  const std::string none = "leaves no status that means success: name one in `done`";
  CHECK(answer_fault({{"retry", {"2xx"}}}) == "/answer: " + none);
  CHECK(answer_fault({{"reject", {200, "2xx"}}}) == "/answer: " + none);
  CHECK(answer_fault({{"retry", {"2xx"}}, {"done", {302}}}) == "0 faults");
  CHECK(answer_fault({{"retry", {"2xx"}}, {"already_done", {409}}}) == "0 faults");
  CHECK(answer_fault({{"retry", {200, 202}}}) == "0 faults");
  const auto poll_fault = [](const json::Value& answer) {
    return request_fault({{"poll", {{"path", "/x"}, {"answer", answer}}}});
  };
  CHECK(poll_fault({{"pending", {"2xx"}}}) == "/poll/answer: " + none);
  CHECK(poll_fault({{"pending", {"2xx"}}, {"done", {200}}}) == "0 faults");
}

TEST_CASE("a poll has a path, an interval and an end") {
  const auto poll_fault = [](const json::Value& poll) { return request_fault({{"poll", poll}}); };
  const json::Value until = {{"value", "/status"}, {"done", {"ready"}}};
  const auto mapping = a_mapping(
      creating({{"method", "POST"},
                {"path", "/x"},
                {"poll",
                 {{"path", "/x/{{properties.id}}"},
                  {"interval_ms", 250},
                  {"until", {{"value", "/status"}, {"done", {"ready", 1}}, {"failed", {nullptr}}}},
                  {"answer", {{"pending", {202}}}}}}}));
  const auto& poll = mapping.actions.at("create")[0].poll;
  REQUIRE(poll);
  CHECK(poll->request.method == "GET");
  CHECK(poll->interval == cells::milliseconds{250});
  CHECK(poll->until->value == Path{"status"});
  CHECK(poll->until->done == std::vector<json::Value>{"ready", 1});
  CHECK(poll->until->failed == std::vector<json::Value>{nullptr});
  CHECK(poll->request.answer.verdicts.at(202) == Verdict::pending);

  CHECK(poll_fault(1) == "/poll: must be an object");
  CHECK(poll_fault({{"until", until}}) ==
        "/poll/path: is required, unless `url` says where the answer has the URL");
  CHECK(poll_fault({{"path", "/x"}}) ==
        "/poll/until: is required, unless `answer` says which statuses are `pending`");
  CHECK(poll_fault({{"path", "/x"}, {"until", until}, {"interval_ms", 99}})
            .starts_with("/poll/interval_ms: "));
  CHECK(poll_fault({{"path", "/x"}, {"until", {{"value", "/s"}}}}) ==
        "/poll/until/done: is required");
  CHECK(poll_fault({{"path", "/x"}, {"until", {{"value", "s"}, {"done", {1}}}}}) ==
        "/poll/until/value: must be a JSON Pointer, such as /id");
  CHECK(
      poll_fault({{"path", "/x"}, {"until", {{"value", "/s"}, {"done", json::Value::array()}}}}) ==
      "/poll/until/done: must have 1 to 64 strings, numbers, booleans or nulls");
  const auto structured = json::Value::parse(R"({"value": "/s", "done": [1, [2]]})");
  CHECK(poll_fault({{"path", "/x"}, {"until", structured}}) ==
        "/poll/until/done: must have 1 to 64 strings, numbers, booleans or nulls");
  CHECK(
      poll_fault({{"path", "/x"}, {"until", {{"value", "/s"}, {"done", {1}}, {"failed", {1}}}}}) ==
      "/poll/until/failed: must not repeat a value of `done`");
  CHECK(poll_fault({{"path", "/x"}, {"until", until}, {"body", 1}}) == "/poll/body: is unknown");
  CHECK(poll_fault({{"path", "/{{nothing}}"}, {"until", until}})
            .starts_with("/poll/path: has the unknown name `nothing`"));
  CHECK(request_fault({{"answer", {{"pending", {202}}}}}) == "/answer/pending: is unknown");
}

TEST_CASE("polls without an interval come every second") {
  const auto mapping =
      a_mapping(creating({{"method", "POST"},
                          {"path", "/x"},
                          {"poll", {{"path", "/x"}, {"answer", {{"pending", {202}}}}}}}));
  CHECK(mapping.actions.at("create")[0].poll->interval == cells::milliseconds{1000});
}

TEST_CASE("instead of a path, a poll may have the place of its URL in the answer") {
  const auto source_of = [](const json::Value& url) {
    const auto mapping = a_mapping(creating(
        {{"method", "POST"},
         {"path", "/x"},
         {"poll", {{"url", url}, {"headers", {{"A", "b"}}}, {"answer", {{"pending", {202}}}}}}}));
    return mapping.actions.at("create")[0].poll->url.value();
  };
  CHECK(source_of("/links/0/href").pointer == Path{"links", "0", "href"});
  CHECK(source_of("").pointer.empty());
  CHECK(source_of({{"header", "Operation-Location"}}).header == "Operation-Location");

  const auto url_fault = [](const json::Value& url, const json::Value& more = {}) {
    json::Value poll = {{"url", url}, {"answer", {{"pending", {202}}}}};
    if (more.is_object()) poll.update(more);
    return request_fault({{"poll", poll}});
  };
  CHECK(url_fault("href") == "/poll/url: must be a JSON Pointer, such as /id");
  CHECK(url_fault("/" + std::string(8192, 'a')) ==
        "/poll/url: must be a JSON Pointer, such as /id");
  CHECK(url_fault(1) == R"(/poll/url: must be a JSON Pointer or {"header": NAME})");
  CHECK(url_fault(json::Value::object()) == "/poll/url/header: is required");
  CHECK(url_fault({{"header", "a b"}}) == "/poll/url/header: is not a header name");
  CHECK(url_fault({{"header", "Location"}, {"x", 1}}) == "/poll/url/x: is unknown");
  CHECK(url_fault("/href", {{"path", "/x"}}) == "/poll/path: must not be combined with `url`");
  CHECK(url_fault("/href", {{"query", {{"a", 1}}}}) ==
        "/poll/query: must not be combined with `url`");
}

TEST_CASE("an error of the mapping is that of each request without its own") {
  const auto mapping = a_mapping(
      {{"error", {{"message", "/reason"}}},
       {"actions",
        {{"a", {{"method", "GET"}, {"path", ""}}},
         {"b", {{"method", "GET"}, {"path", ""}, {"answer", {{"error", {{"code", "/code"}}}}}}}}}});
  CHECK(mapping.actions.at("a")[0].answer.error->message == Path{"reason"});
  CHECK_FALSE(mapping.actions.at("b")[0].answer.error->message);
  CHECK(mapping.actions.at("b")[0].answer.error->code == Path{"code"});
}

TEST_CASE("an error of the mapping is that of each poll without its own") {
  const auto poll = [](const json::Value& answer) -> json::Value {
    return {{"method", "POST"}, {"path", ""}, {"poll", {{"path", "/x"}, {"answer", answer}}}};
  };
  const auto mapping =
      a_mapping({{"error", {{"message", "/reason"}}},
                 {"actions",
                  {{"a", poll({{"pending", {202}}})},
                   {"b", poll({{"pending", {202}}, {"error", {{"code", "/code"}}}})}}}});
  const auto error_of = [&mapping](const char* action) {
    return mapping.actions.at(action)[0].poll->request.answer.error;
  };
  REQUIRE(error_of("a"));
  CHECK(error_of("a")->message == Path{"reason"});
  CHECK_FALSE(error_of("b")->message);
  CHECK(error_of("b")->code == Path{"code"});
}

TEST_CASE("what becomes of a secret is known, and checked, when the mapping is read") {
  const auto mapping =
      a_mapping(creating({{"method", "POST"},
                          {"path", "/"},
                          {"query", {{"key", "{{secrets.key}}"}}},
                          {"headers", {{"X", "Basic {{secrets.key | base64}}"}}}}));
  CHECK(mapping.derived_secrets ==
        std::vector<std::string>{"czNjcmV0L2tleSsx", "s3cret%2Fkey%2B1", "s3cret/key+1"});
  CHECK(a_mapping(creating({{"method", "POST"}, {"path", "/"}, {"body", "{{secrets.key | json}}"}}))
            .derived_secrets ==
        std::vector<std::string>{R"("s3cret/key+1")", R"(\"s3cret/key+1\")"});
  const json::Value two_lines = {{"key", "env:LINES"}};
  auto faulty =
      creating({{"method", "POST"}, {"path", "/"}, {"headers", {{"X", "{{secrets.key}}"}}}});
  faulty["secrets"] = two_lines;
  CHECK(fault_of(faulty) ==
        "/m/actions/create/headers/X: cannot be made: `secrets.key` has a control character");
  auto numeric = creating({{"method", "POST"}, {"path", "/"}, {"body", "{{secrets.key|number}}"}});
  CHECK(fault_of(numeric) ==
        "/m/actions/create/body: cannot be made: `secrets.key` is not a number");
}

TEST_CASE("a mapping is shown without its secrets") {
  const auto mapping = a_mapping(
      {{"secrets", {{"key", "env:KEY"}, {"literal", "hunter2"}}},
       {"actions",
        {{"create",
          {{"method", "POST"},
           {"path", "/"},
           {"query", {{"token", "hunter3"}, {"pin", 271'828}, {"id", "{{entity.id}}"}}},
           {"poll",
            {{"path", "/"}, {"headers", {{"Z", "hunter5"}}}, {"answer", {{"pending", {202}}}}}},
           {"headers", {{"X", "hunter4"}, {"Y", "{{secrets.key}}"}}}}}}},
       {"undo",
        {{"create",
          {{{"method", "DELETE"}, {"path", "/"}, {"headers", {{"X", "hunter6"}}}},
           {{"method", "DELETE"}, {"path", "/"}, {"query", {{"token", "hunter7"}}}}}}}}});
  const auto text = json::dump(mapping.shown);
  CHECK(text.find("hunter") == std::string::npos);
  CHECK(text.find("s3cret") == std::string::npos);
  CHECK(text.find("271828") == std::string::npos);
  CHECK(mapping.shown["secrets"]["key"] == "env:KEY");
  CHECK(mapping.shown["actions"]["create"]["query"]["id"] == "{{entity.id}}");
  CHECK(mapping.shown["actions"]["create"]["headers"]["Y"] == "{{secrets.key}}");
}

TEST_CASE("the schema of a mapping is JSON") {
  CHECK(std::holds_alternative<json::Document>(json::parse(mapping_schema())));
}

TEST_CASE("mappings are equal if their text and their secrets are") {
  const json::Value value = creating({{"method", "GET"}, {"path", "/"}});
  const auto one = a_mapping(value);
  auto other = a_mapping(value);
  CHECK(one == other);
  other.secrets[0].second.value = "changed";
  CHECK_FALSE(one == other);
  CHECK_FALSE(one == a_mapping(creating({{"method", "GET"}, {"path", ""}})));
}

TEST_CASE("a value in a query or a form has at most 8192 bytes") {
  for (const char* pairs : {"query", "form"}) {
    CHECK(request_fault({{pairs, {{"a", std::string(8193, 'v')}}}}) ==
          "/" + std::string(pairs) + "/a: must have at most 8192 bytes");
  }
}

}  // namespace celld::providers::mappings
