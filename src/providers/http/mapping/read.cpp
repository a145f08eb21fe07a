#include "src/providers/http/mapping/read.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "src/config/checks.hpp"
#include "src/providers/http/mapping/template_check.hpp"

namespace celld::providers::mappings {
namespace {

using Faults = std::vector<json::Fault>;

constexpr std::size_t actions_max = 100;
constexpr std::size_t action_bytes_max = 63;
constexpr std::size_t requests_max = 16;
constexpr std::size_t members_max = 64;
constexpr std::size_t headers_max = 32;
constexpr std::size_t secrets_max = 32;
constexpr std::size_t path_bytes_max = 2048;
constexpr std::size_t value_bytes_max = 8192;
constexpr std::size_t name_bytes_max = 128;
constexpr std::array<std::string_view, 5> methods = {"GET", "POST", "PUT", "PATCH", "DELETE"};
constexpr std::size_t poll_values_max = 64;
constexpr std::int64_t interval_min_ms = 100;
constexpr std::int64_t interval_max_ms = 3'600'000;
constexpr std::int64_t interval_default_ms = 1'000;
constexpr int status_min = 200;
constexpr int status_max = 599;

/// For names that templates use: those of secrets and properties.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= name_bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-';
         });
}

constexpr const char* name_pattern = "must have a name that matches [A-Za-z0-9_-]{1,128}";

std::string secret_fault(std::string_view value) {
  if (value.empty()) return "must not be empty";
  if (value.size() > value_bytes_max)
    return "must have at most " + std::to_string(value_bytes_max) + " bytes";
  const auto parsed = json::parse(json::quote(value));
  const auto* document = std::get_if<json::Document>(&parsed);
  if (document == nullptr || document->value != value) return "must be UTF-8 without a NUL";
  return "";
}

std::optional<Verdict> parse_verdict(std::string_view name) {
  if (name == "done") return Verdict::done;
  if (name == "already_done") return Verdict::already_done;
  if (name == "retry") return Verdict::retry;
  if (name == "pending") return Verdict::pending;
  return name == "reject" ? std::optional(Verdict::reject) : std::nullopt;
}

/// 409 of 409; 4 of "4xx"; nothing of anything else.
std::optional<int> parse_status(const json::Value& value) {
  if (value.is_number_integer() && value >= status_min && value <= status_max)
    return value.get<int>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  const bool is_class =
      text.size() == 3 && text[0] >= '2' && text[0] <= '5' && text.ends_with("xx");
  return is_class ? std::optional(text[0] - '0') : std::nullopt;
}

class MappingReader {
 public:
  MappingReader(const config::Environment& environment, Faults& faults)
      : environment_(environment), faults_(faults) {}

  Mapping read(const json::Value& value, std::string pointer) {
    json::ObjectReader reader(value, std::move(pointer), faults_);
    mapping_.source = value;
    reader.require({"actions"});
    if (const json::Value* secrets = reader.object("secrets"))
      read_secrets(*secrets, reader.pointer_of("secrets"));
    templates_.emplace(mapping_.secrets, faults_);
    if (const json::Value* error = reader.any("error"))
      error_ = read_error(*error, reader.pointer_of("error"));
    if (const json::Value* actions = reader.object("actions"))
      read_actions(*actions, reader.pointer_of("actions"), mapping_.actions);
    if (const json::Value* undo = reader.object("undo")) {
      const auto of_undo = reader.pointer_of("undo");
      read_actions(*undo, of_undo, mapping_.undo);
      for (const auto& [name, requests] : mapping_.undo) {
        if (!mapping_.actions.contains(name))
          faults_.push_back({json::pointer_to(of_undo, name), "is not a member of `actions`"});
      }
    }
    reader.finish();
    const auto& derived = templates_->derived_secrets();
    mapping_.derived_secrets.assign(derived.begin(), derived.end());
    return std::move(mapping_);
  }

 private:
  void bound(const json::Value& value, std::size_t max, const std::string& pointer,
             const char* of = "members") {
    if (value.size() > max)
      faults_.push_back({pointer, "must have at most " + std::to_string(max) + " " + of});
  }

  void read_secrets(const json::Value& value, std::string pointer) {
    bound(value, secrets_max, pointer);
    json::ObjectReader reader(value, std::move(pointer), faults_);
    for (const auto& [name, ignored] : value.items()) {
      if (!is_name(name)) reader.fault(name, name_pattern);
      if (auto secret = config::read_secret(reader, name, environment_, secret_fault))
        mapping_.secrets.emplace_back(name, std::move(*secret));
      else
        mapping_.secrets.emplace_back(name, config::Secret{"", "?"});  // Known, with a fault.
    }
  }

  void read_actions(const json::Value& value, const std::string& pointer,
                    std::map<std::string, std::vector<Request>>& actions) {
    bound(value, actions_max, pointer);
    if (value.empty()) faults_.push_back({pointer, "must have at least one member"});
    for (const auto& [name, action] : value.items()) {
      const auto at = json::pointer_to(pointer, name);
      if (name.empty() || name.size() > action_bytes_max)
        faults_.push_back({at, "must have a name of 1 to 63 bytes"});
      actions.emplace(name, read_action(action, at));
    }
  }

  std::vector<Request> read_action(const json::Value& value, const std::string& pointer) {
    std::vector<Request> requests;
    if (!value.is_array()) {
      requests.push_back(read_request(value, pointer));
      return requests;
    }
    bound(value, requests_max, pointer, "requests");
    for (std::size_t i = 0; i < value.size(); ++i)
      requests.push_back(read_request(value[i], json::pointer_to(pointer, i)));
    return requests;
  }

  Request read_request(const json::Value& value, std::string pointer) {
    Request request;
    json::ObjectReader reader(value, std::move(pointer), faults_);
    reader.require({"method", "path"});
    if (auto method = reader.string("method")) {
      if (std::find(methods.begin(), methods.end(), *method) == methods.end())
        reader.fault("method", "must be \"GET\", \"POST\", \"PUT\", \"PATCH\" or \"DELETE\"");
      request.method = std::move(*method);
    }
    read_target(reader, request);
    read_content(reader, request);
    if (const json::Value* headers = reader.object("headers"))
      request.headers = read_headers(*headers, reader.pointer_of("headers"),
                                     request.body || !request.form.empty());
    request.answer.error = error_;
    if (const json::Value* answer = reader.any("answer"))
      read_answer_rules(*answer, reader.pointer_of("answer"), false, request.answer);
    if (const json::Value* poll = reader.any("poll"))
      request.poll = read_poll(*poll, reader.pointer_of("poll"));
    reader.finish();
    return request;
  }

  std::shared_ptr<const Poll> read_poll(const json::Value& value, std::string pointer) {
    auto poll = std::make_shared<Poll>();
    Request& request = poll->request;
    json::ObjectReader reader(value, std::move(pointer), faults_);
    request.method = "GET";
    read_target(reader, request);
    if (const json::Value* url = reader.any("url"))
      poll->url = read_url_source(*url, reader.pointer_of("url"));
    check_target(reader);
    if (const json::Value* headers = reader.object("headers"))
      request.headers = read_headers(*headers, reader.pointer_of("headers"), false);
    const auto interval = reader.integer("interval_ms", interval_min_ms, interval_max_ms);
    poll->interval = cells::milliseconds{interval.value_or(interval_default_ms)};
    request.answer.error = error_;
    if (const json::Value* answer = reader.any("answer"))
      read_answer_rules(*answer, reader.pointer_of("answer"), true, request.answer);
    if (const json::Value* until = reader.any("until"))
      poll->until = read_until(*until, reader.pointer_of("until"));
    if (reader.is_object() && !poll->until && !has_pending(request.answer))
      reader.fault("until", "is required, unless `answer` says which statuses are `pending`");
    reader.finish();
    return poll;
  }

  static void check_target(json::ObjectReader& reader) {
    if (!reader.is_object()) return;
    if (!reader.has("url")) {
      if (!reader.has("path"))
        reader.fault("path", "is required, unless `url` says where the answer has the URL");
      return;
    }
    for (const char* part : {"path", "query"}) {
      if (reader.has(part)) reader.fault(part, "must not be combined with `url`");
    }
  }

  UrlSource read_url_source(const json::Value& value, const std::string& pointer) {
    UrlSource source;
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      auto path = text.size() <= value_bytes_max ? parse_pointer(text) : std::nullopt;
      if (!path) faults_.push_back({pointer, "must be a JSON Pointer, such as /id"});
      source.pointer = std::move(path).value_or(Path{});
      return source;
    }
    if (!value.is_object()) {
      faults_.push_back({pointer, "must be a JSON Pointer or {\"header\": NAME}"});
      return source;
    }
    json::ObjectReader reader(value, pointer, faults_);
    reader.require({"header"});
    if (auto name = reader.string("header")) {
      if (std::string fault = config::header_name_fault(*name); !fault.empty())
        reader.fault("header", std::move(fault));
      source.header = std::move(*name);
    }
    reader.finish();
    return source;
  }

  /// Without a status that means done, a 2xx that is not named does.
  static bool can_succeed(const AnswerRules& rules) {
    constexpr int success = 2;
    return !rules.verdicts.contains(success) ||
           std::any_of(rules.verdicts.begin(), rules.verdicts.end(), [](auto& each) {
             return each.second == Verdict::done || each.second == Verdict::already_done;
           });
  }

  static bool has_pending(const AnswerRules& rules) {
    return std::any_of(rules.verdicts.begin(), rules.verdicts.end(),
                       [](auto& each) { return each.second == Verdict::pending; });
  }

  Until read_until(const json::Value& value, std::string pointer) {
    Until until;
    json::ObjectReader reader(value, std::move(pointer), faults_);
    reader.require({"value", "done"});
    if (auto path = read_pointer(reader, "value")) until.value = std::move(*path);
    until.done = read_values(reader, "done");
    until.failed = read_values(reader, "failed");
    for (const auto& each : until.failed) {
      if (std::find(until.done.begin(), until.done.end(), each) != until.done.end())
        reader.fault("failed", "must not repeat a value of `done`");
    }
    reader.finish();
    return until;
  }

  std::vector<json::Value> read_values(json::ObjectReader& reader, const char* name) {
    const json::Value* values = reader.array(name);
    if (values == nullptr) return {};
    const bool scalar = std::all_of(values->begin(), values->end(),
                                    [](const json::Value& each) { return each.is_primitive(); });
    if (values->empty() || values->size() > poll_values_max || !scalar)
      reader.fault(name, "must have 1 to 64 strings, numbers, booleans or nulls");
    return std::vector<json::Value>(values->begin(), values->end());
  }

  void read_target(json::ObjectReader& reader, Request& request) {
    if (const auto path = reader.string("path", 0, path_bytes_max))
      request.path = templates_->read_path(*path, reader.pointer_of("path"));
    if (const json::Value* query = reader.object("query"))
      request.query = read_pairs(*query, reader.pointer_of("query"));
  }

  void read_content(json::ObjectReader& reader, Request& request) {
    if (const json::Value* body = reader.any("body"))
      request.body = templates_->read_body(*body, reader.pointer_of("body"));
    if (const json::Value* form = reader.object("form")) {
      request.form = read_pairs(*form, reader.pointer_of("form"));
      if (form->empty()) reader.fault("form", "must have at least one member");
      if (request.body) reader.fault("form", "must not be combined with `body`");
    }
    for (const char* content : {"body", "form"}) {
      if (request.method == "GET" && reader.has(content))
        reader.fault(content, "must not be combined with the method GET");
    }
  }

  /// The parameters of a query or a form.
  NamedTemplates read_pairs(const json::Value& value, const std::string& pointer) {
    NamedTemplates pairs;
    bound(value, members_max, pointer);
    for (const auto& [name, member] : value.items()) {
      const auto at = json::pointer_to(pointer, name);
      if (name.empty() || name.size() > name_bytes_max)
        faults_.push_back({at, "must have a name of 1 to 128 bytes"});
      if (has_braces(name)) faults_.push_back({at, "must not have a template in its name"});
      const bool is_scalar = member.is_number() || member.is_boolean();
      if (!member.is_string() && !is_scalar) {
        faults_.push_back({at, "must be a string, a number or a boolean"});
        continue;
      }
      const auto text = is_scalar ? json::dump(member) : member.get<std::string>();
      if (text.size() > value_bytes_max) faults_.push_back({at, "must have at most 8192 bytes"});
      if (auto read = templates_->read(text, at, EscapeContext::query))
        pairs.emplace_back(name, std::move(*read));
    }
    return pairs;
  }

  NamedTemplates read_headers(const json::Value& value, std::string pointer, bool has_content) {
    NamedTemplates headers;
    bound(value, headers_max, pointer);
    std::set<std::string> names;
    json::ObjectReader reader(value, std::move(pointer), faults_);
    for (const auto& [name, ignored] : value.items()) {
      const std::string lower = config::lower_case(name);
      if (lower == "content-type") {
        if (!has_content) reader.fault(name, "needs a `body` or a `form`");
      } else if (std::string fault = config::header_name_fault(name); !fault.empty()) {
        reader.fault(name, std::move(fault));
      }
      if (!names.insert(lower).second)
        reader.fault(name, "is the same header as another one, spelled differently");
      const auto text = reader.string(name, 1, value_bytes_max);
      if (!text) continue;
      if (std::string fault = config::header_value_fault(*text); !fault.empty()) {
        reader.fault(name, std::move(fault));
      } else if (auto read =
                     templates_->read(*text, reader.pointer_of(name), EscapeContext::header)) {
        headers.emplace_back(name, std::move(*read));
      }
    }
    return headers;
  }

  void read_answer_rules(const json::Value& value, std::string pointer, bool of_poll,
                         AnswerRules& rules) {
    json::ObjectReader reader(value, std::move(pointer), faults_);
    for (const char* name : {"done", "already_done", "retry", "reject", "pending"}) {
      if (name == std::string_view("pending") && !of_poll) continue;
      if (const json::Value* statuses = reader.array(name))
        read_statuses(*statuses, reader.pointer_of(name), *parse_verdict(name), rules);
    }
    if (!can_succeed(rules)) {
      faults_.push_back(
          {reader.pointer(), "leaves no status that means success: name one in `done`"});
    }
    if (const json::Value* properties = reader.object("properties"))
      read_properties(*properties, reader.pointer_of("properties"), rules);
    if (const json::Value* messages = reader.object("messages"))
      read_messages(*messages, reader.pointer_of("messages"), rules);
    if (const json::Value* error = reader.any("error"))
      rules.error = read_error(*error, reader.pointer_of("error"));
    reader.finish();
  }

  void read_statuses(const json::Value& value, const std::string& pointer, Verdict verdict,
                     AnswerRules& rules) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto status = parse_status(value[i]);
      if (!status) {
        faults_.push_back({json::pointer_to(pointer, i),
                           "must be a status from 200 to 599, or \"2xx\", \"3xx\", \"4xx\" or "
                           "\"5xx\""});
      } else if (!rules.verdicts.emplace(*status, verdict).second) {
        faults_.push_back({json::pointer_to(pointer, i), "is a status that is named twice"});
      }
    }
  }

  void read_properties(const json::Value& value, std::string pointer, AnswerRules& rules) {
    bound(value, members_max, pointer);
    json::ObjectReader reader(value, std::move(pointer), faults_);
    for (const auto& [name, ignored] : value.items()) {
      if (!is_name(name)) reader.fault(name, name_pattern);
      if (auto path = read_pointer(reader, name))
        rules.properties.emplace_back(name, std::move(*path));
    }
  }

  void read_messages(const json::Value& value, std::string pointer, AnswerRules& rules) {
    bound(value, members_max, pointer);
    json::ObjectReader reader(value, std::move(pointer), faults_);
    for (const auto& [name, ignored] : value.items()) {
      auto path = parse_pointer(name);
      if (!path) reader.fault(name, "must have a JSON Pointer as its name");
      const auto text = reader.string(name);
      if (!text) continue;
      const auto severity = cells::parse_severity(*text);
      if (!severity) reader.fault(name, "must be \"info\", \"warning\" or \"error\"");
      if (path && severity) rules.messages.emplace_back(std::move(*path), *severity);
    }
  }

  ErrorPaths read_error(const json::Value& value, std::string pointer) {
    json::ObjectReader reader(value, std::move(pointer), faults_);
    ErrorPaths error{read_pointer(reader, "code"), read_pointer(reader, "message")};
    reader.finish();
    return error;
  }

  static std::optional<Path> read_pointer(json::ObjectReader& reader, const std::string& name) {
    const auto text = reader.string(name, 0, value_bytes_max);
    if (!text) return std::nullopt;
    auto path = parse_pointer(*text);
    if (!path) reader.fault(name, "must be a JSON Pointer, such as /id");
    return path;
  }

  const config::Environment& environment_;
  Faults& faults_;
  Mapping mapping_;
  std::optional<TemplateReader> templates_;
  std::optional<ErrorPaths> error_;
};

/// Literal headers and queries may be secret; celld shows none.
void mask_literals(json::Value& request) {
  if (const auto poll = request.find("poll"); poll != request.end()) mask_literals(*poll);
  for (const char* part : {"headers", "query"}) {
    const auto values = request.find(part);
    if (values == request.end()) continue;
    for (auto& value : *values) {
      if (!value.is_string() || !has_braces(value.get_ref<const std::string&>()))
        value = config::masked;
    }
  }
}

json::Value show(const Mapping& mapping) {
  json::Value shown = mapping.source;
  if (shown.contains("secrets")) shown["secrets"] = config::show_secrets(mapping.secrets);
  for (const char* part : {"actions", "undo"}) {
    const auto actions = shown.find(part);
    if (actions == shown.end()) continue;
    for (auto& action : *actions) {
      if (action.is_object()) mask_literals(action);
      if (!action.is_array()) continue;
      for (auto& request : action) mask_literals(request);
    }
  }
  return shown;
}

}  // namespace

Mapping read_mapping(const json::Value& value, std::string pointer,
                     const config::Environment& environment, std::vector<json::Fault>& faults) {
  const auto faults_before = faults.size();
  auto mapping = MappingReader(environment, faults).read(value, std::move(pointer));
  if (faults.size() == faults_before) mapping.shown = show(mapping);
  return mapping;
}

std::map<std::string, std::string> values_of(const config::NamedSecrets& secrets) {
  std::map<std::string, std::string> values;
  for (const auto& [name, secret] : secrets) values.emplace(name, secret.value);
  return values;
}

}  // namespace celld::providers::mappings
