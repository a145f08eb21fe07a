// A template, a value and an answer. An input is a template, a newline, a value, a newline, a
// status, a space, and a body. The value is JSON, or else a text.
#include <algorithm>
#include <charconv>
#include <string>
#include <variant>

#include "src/config/checks.hpp"
#include "src/json/json.hpp"
#include "src/providers/http/mapping/answer.hpp"
#include "src/providers/http/mapping/read.hpp"
#include "src/providers/http/mapping/request.hpp"
#include "src/providers/http/operation.hpp"
#include "src/providers/http/operation_url.hpp"
#include "src/providers/http/outcome.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using namespace celld::providers::mappings;
using cells::CallOutcome;
using fuzz::must;
using providers::HttpResult;
using Kind = CallOutcome::Kind;

namespace {

const std::string secret = "sesame-0123456789";
constexpr cells::WallTime now{cells::milliseconds(1'795'000'000'000)};

struct Input {
  std::string text;
  std::string value;
  std::string answer;
};

std::string_view take_line(std::string_view& rest) {
  const auto line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return line;
}

config::Environment environment() {
  return {[](const std::string&) { return std::optional<std::string>(secret); },
          [](const std::string&) { return config::FileText{.content = std::string(secret)}; }};
}

/// The mapping with one request, if it has no fault.
std::optional<Mapping> mapping_of(json::Value request) {
  std::vector<json::Fault> faults;
  request.emplace("method", "POST");
  request.emplace("path", "");
  const json::Value value{{"secrets", {{"key", "env:KEY"}}}, {"actions", {{"create", request}}}};
  auto mapping = read_mapping(value, "/m", environment(), faults);
  for (const auto& fault : faults) {
    must(fault.pointer.starts_with("/m") && !fault.detail.empty(), "a fault says what and where");
    must(fault.detail.find(secret) == std::string::npos, "a fault reveals no secret");
  }
  if (!faults.empty()) return std::nullopt;
  must(json::dump(mapping.shown).find(secret) == std::string::npos,
       "a mapping is shown without its secrets");
  return mapping;
}

Scope scope_of(const Mapping& mapping, const std::string& value) {
  Scope scope;
  auto parsed = json::parse(value);
  const auto* document = std::get_if<json::Document>(&parsed);
  const auto text = json::parse(json::quote(value));
  const auto* quoted = std::get_if<json::Document>(&text);
  scope.document = {{"job", "1m82z1sgm0000"}, {"attempt", 1}, {"customer", "acme"}};
  scope.document["entity"]["id"] = quoted == nullptr ? json::Value("x") : quoted->value;
  scope.document["parameters"]["a"] =
      document == nullptr ? scope.document["entity"]["id"] : document->value;
  scope.secrets = values_of(mapping.secrets);
  return scope;
}

/// The request, if there is one for the value.
std::optional<Rendered> rendered(const Mapping& mapping, const Scope& scope) {
  auto result = render(mapping.actions.at("create")[0], scope);
  if (const auto* refusal = std::get_if<Refusal>(&result)) {
    must(!refusal->text.empty() && refusal->text.find(secret) == std::string::npos,
         "a refusal has a reason without a secret");
    return std::nullopt;
  }
  return std::get<Rendered>(std::move(result));
}

bool is_in(std::string_view text, std::string_view marks) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  });
}

void check_path(const Input& input) {
  const auto mapping = mapping_of({{"path", "/zones/" + input.text}});
  if (!mapping) return;
  const auto request = rendered(*mapping, scope_of(*mapping, input.value));
  if (!request) return;
  const auto& target = request->target;
  must(is_in(target, "-._~!$&'()*+,;=:@/%"), "a path has no character with a meaning beyond it");
  const auto segments = mapping->actions.at("create")[0].path.size();
  must(static_cast<std::size_t>(std::count(target.begin(), target.end(), '/')) == segments,
       "a value stays within its segment");
  must(target.starts_with("/zones/") && target.find("//") == std::string::npos,
       "a path has no empty segment");
  const std::string closed = target + "/";
  must(closed.find("/../") == std::string::npos && closed.find("/./") == std::string::npos,
       "a path leads nowhere else");
}

void check_query(const Input& input) {
  const auto mapping = mapping_of({{"query", {{"q", input.text}}}});
  if (!mapping) return;
  const auto request = rendered(*mapping, scope_of(*mapping, input.value));
  if (!request || request->target.empty()) return;
  must(request->target.starts_with("?q=") && is_in(request->target.substr(3), "-._~%"),
       "a query has one parameter");
}

void check_header(const Input& input) {
  const auto mapping = mapping_of({{"headers", {{"X-Value", input.text}}}});
  if (!mapping) return;
  const auto request = rendered(*mapping, scope_of(*mapping, input.value));
  if (!request) return;
  for (const auto& [name, value] : request->headers) {
    must(std::none_of(value.begin(), value.end(),
                      [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; }),
         "a header is one line");
  }
}

void check_body(const Input& input) {
  const auto mapping = mapping_of({{"body", {{"b", input.text}}}});
  if (!mapping) return;
  const auto scope = scope_of(*mapping, input.value);
  const auto request = rendered(*mapping, scope);
  if (!request) return;
  const auto parsed = json::parse(*request->body, {.depth_max = 80, .nodes_max = 1'000'000});
  const auto* document = std::get_if<json::Document>(&parsed);
  must(document != nullptr && document->value.is_object() && document->value.size() <= 1,
       "a body is the JSON document of its mapping");
  if (input.text == "{{parameters.a}}") {
    must(document->value["b"] == scope.document["parameters"]["a"], "a JSON value stays itself");
  }
}

void check_words(const std::string& text) {
  must(text.size() <= providers::text_bytes_max, "a text has at most 4 KiB");
  must(fuzz::is_clean_text(text), "a text is UTF-8 without a NUL");
  must(text.find(secret) == std::string::npos, "a text reveals no secret");
}

HttpResult result_of(std::string_view answer) {
  HttpResult result;
  result.end = HttpResult::End::answered;
  const std::size_t digits = std::min<std::size_t>(answer.size(), 3);  // No answer has more.
  std::from_chars(answer.data(), answer.data() + digits, result.status);
  result.body = answer.substr(std::min(answer.find(' ') + 1, answer.size()));
  return result;
}

void check_answer(const Input& input) {
  static const auto mapping =
      mapping_of({{"answer",
                   {{"already_done", {409, "3xx"}},
                    {"retry", {404}},
                    {"properties", {{"id", "/id"}, {"first", "/list/0"}, {"all", ""}}},
                    {"messages", {{"/notes", "warning"}, {"/list/1", "info"}}},
                    {"error", {{"code", "/error/code"}, {"message", "/error/0"}}}}}});
  const auto result = result_of(input.answer);
  auto read = read_answer(mapping->actions.at("create")[0].answer, "dns", result, now, {secret});
  const bool success = result.status / 100 == 2 || result.status / 100 == 3 || result.status == 409;
  if (const auto* done = std::get_if<Done>(&read)) {
    must(success, "only what the mapping says is done");
    must(done->messages.size() <= providers::messages_max, "there are at most 100 messages");
    for (const auto& message : done->messages) check_words(message.text);
    std::size_t bytes = 0;
    for (const auto& [name, text] : done->properties) {
      must(std::holds_alternative<json::Document>(
               json::parse(text, {.depth_max = 64, .nodes_max = 1'000'000})),
           "a property is JSON");
      bytes += name.size() + text.size();
    }
    must(bytes <= providers::properties_bytes_max, "properties have at most 256 KiB");
    must(result.status / 100 != 2 || done->properties.size() == 3,
         "what is done has its properties");
    return;
  }
  const auto& failure = std::get<CallOutcome>(read);
  must(failure.kind != Kind::succeeded && !failure.code.empty() && !failure.message.empty(),
       "a failure says what is wrong");
  must(result.status != 404 || failure.kind == Kind::retryable, "a mapping says what is retried");
  check_words(failure.code);
  check_words(failure.message);
}

/// As in check_answer(), with the answer to a poll.
void check_poll(const std::string& answer) {
  static const auto mapping = mapping_of(
      {{"poll",
        {{"path", ""},
         {"until", {{"value", "/id"}, {"done", {1, "ready"}}, {"failed", {nullptr, "broken"}}}},
         {"answer", {{"pending", {202}}, {"properties", {{"list", "/list"}}}}}}}});
  const auto& poll = *mapping->actions.at("create")[0].poll;
  const auto result = result_of(answer);
  const auto read = read_poll(poll, "dns", result, now, {secret});
  const bool answered = result.status / 100 == 2;
  if (const auto* failure = std::get_if<PollFailed>(&read)) {
    const auto& outcome = failure->outcome;
    must(outcome.kind != Kind::succeeded && outcome.kind != Kind::pending, "a failure is one");
    check_words(outcome.message);
    return;
  }
  must(answered, "only a success goes on or ends well");
  if (std::holds_alternative<Pending>(read)) return;
  const auto parsed = json::parse(result.body);
  const auto& id = std::get<json::Document>(parsed).value.at("id");
  must(id == 1 || id == "ready", "an operation is done when its value says so");
}

/// The value of a header, as the URL of an operation.
void check_operation_url(const std::string& value) {
  static const std::string service = "https://cloud.example:8443/v1";
  HttpResult result;
  result.kept_header = value;
  const auto read =
      providers::read_operation_url({{}, "Location"}, result, service + "/x", service);
  if (const auto* url = std::get_if<std::string>(&read)) {
    must(config::lower_case(*url).starts_with("https://cloud.example:8443/"),
         "polls go to no other server");
    must(url->find('#') == std::string::npos && url->size() <= 8192, "a URL can be requested");
  } else {
    must(!std::get<providers::NoOperationUrl>(read).text.empty(), "it is said what is wrong");
  }
}

void check_operation(const std::string& text) {
  const auto operation = providers::parse_operation(text);
  if (!operation) return;
  must(providers::parse_operation(providers::to_text(*operation)) == operation,
       "an operation is read as it was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = fuzz::text_of(data, size);
  Input input;
  input.text = take_line(rest);
  input.value = take_line(rest);
  input.answer = rest;
  // The configuration and the answers that reach a mapping are JSON, which is UTF-8 without a NUL.
  if (!fuzz::is_clean_text(input.text)) return 0;
  // A template that has a secret in plain text is shown with it.
  if (input.text.find(secret) != std::string::npos) return 0;
  check_path(input);
  check_query(input);
  check_header(input);
  check_body(input);
  check_answer(input);
  check_poll(input.answer);
  check_operation(input.value);
  check_operation_url(input.value);
  return 0;
}
