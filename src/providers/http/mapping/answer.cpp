#include "src/providers/http/mapping/answer.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "src/json/number_faults.hpp"
#include "src/providers/http/answer_limits.hpp"
#include "src/providers/http/outcome.hpp"

namespace celld::providers::mappings {
namespace {

using cells::CallOutcome;

constexpr std::size_t state_bytes_max = 200;

/// The document in the body; nothing if the body is not JSON.
std::optional<json::Document> parse_body(const HttpResult& result) {
  auto parsed = json::parse(result.body, answer_limits);
  if (auto* document = std::get_if<json::Document>(&parsed)) return std::move(*document);
  return std::nullopt;
}

std::optional<Verdict> verdict_on(const AnswerRules& rules, int status) {
  constexpr int statuses_per_class = 100;
  if (status < statuses_per_class) return std::nullopt;  // "HTTP/1.1 004" is not of a class.
  for (const int key : {status, status / statuses_per_class}) {
    const auto found = rules.verdicts.find(key);
    if (found != rules.verdicts.end()) return found->second;
  }
  const bool names_done = std::any_of(rules.verdicts.begin(), rules.verdicts.end(),
                                      [](auto& each) { return each.second == Verdict::done; });
  const bool success = status / statuses_per_class == 2;
  return success && !names_done ? std::optional(Verdict::done) : std::nullopt;
}

/// Takes the properties; returns what is wrong with them, if anything.
std::optional<std::string> take_properties(const AnswerRules& rules, bool required,
                                           const std::optional<json::Document>& document,
                                           cells::Properties& properties) {
  std::size_t bytes = 0;
  for (const auto& [name, path] : rules.properties) {
    const json::Value* value = document ? find(document->value, path) : nullptr;
    if (value == nullptr) {
      if (!required) continue;
      if (!document) return "answered with a body that is not JSON";
      return "answered without `" + pointer_of(path) + "`, the property `" + name + "`";
    }
    if (json::has_number_fault(*document, pointer_of(path), *value))
      return "answered with a number in its properties that is out of range";
    auto text = json::dump(*value);
    bytes += name.size() + text.size();
    if (bytes > properties_bytes_max) return "answered with more than 256 KiB of properties";
    properties.emplace(name, std::move(text));
  }
  return std::nullopt;
}

/// Takes a text, or the texts of an array; ignores anything else.
void take_messages(const json::Value& value, cells::Message message,
                   std::vector<cells::Message>& messages) {
  if (value.is_string()) {
    message.text = value.get<std::string>();
    if (!message.text.empty()) messages.push_back(std::move(message));
  } else if (value.is_array()) {
    for (const auto& each : value) {
      if (each.is_string()) take_messages(each, message, messages);
    }
  }
}

std::vector<cells::Message> messages_of(const AnswerRules& rules, const std::string& service,
                                        const std::optional<json::Document>& document,
                                        cells::WallTime now,
                                        const std::vector<std::string>& secrets) {
  std::vector<cells::Message> messages;
  for (const auto& [path, severity] : rules.messages) {
    const json::Value* value = document ? find(document->value, path) : nullptr;
    if (value == nullptr) continue;
    take_messages(*value, {.time = now, .severity = severity, .service = service, .text = {}},
                  messages);
  }
  if (messages.size() > messages_max) {  // Drops the oldest.
    messages.erase(messages.begin(), messages.end() - static_cast<std::ptrdiff_t>(messages_max));
  }
  for (auto& message : messages) message.text = text_for_people(message.text, secrets);
  return messages;
}

std::string text_at(const json::Value& document, const std::optional<Path>& path) {
  const json::Value* value = path ? find(document, *path) : nullptr;
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  return value->is_number_integer() ? json::dump(*value) : "";
}

/// Copies the code and the message at `paths` of the answer into the failure.
void explain(const ErrorPaths& paths, const HttpResult& result, CallOutcome& outcome) {
  const auto document = parse_body(result);
  if (!document) return;
  const bool rejected = outcome.kind == CallOutcome::Kind::rejected;
  if (auto code = text_at(document->value, paths.code); rejected && is_error_code(code))
    outcome.code = std::move(code);
  const auto message = text_at(document->value, paths.message);
  if (message.find_first_not_of(" \t\r\n") == std::string::npos) return;
  if (rejected) {
    outcome.message = message;
  } else {
    append_message(message, outcome);
  }
}

Pending pending(const HttpResult& result, cells::WallTime now) {
  if (!result.retry_after) return {};
  return {parse_retry_after(*result.retry_after, now)};
}

CallOutcome read_failure(std::optional<Verdict> verdict, const std::string& service,
                         const HttpResult& result, cells::WallTime now) {
  if (verdict == Verdict::retry) return retryable_answer(service, result, now);
  if (verdict == Verdict::reject) return rejected_answer(service, result);
  return failed_answer(service, result, now);
}

/// As read_failure. If `rules` have error paths, uses only what the body has there.
CallOutcome read_explained_failure(const AnswerRules& rules, std::optional<Verdict> verdict,
                                   const std::string& service, const HttpResult& result,
                                   cells::WallTime now) {
  if (!rules.error) return read_failure(verdict, service, result, now);
  const HttpResult without_body{result.end, result.status, "", result.retry_after, ""};
  auto outcome = read_failure(verdict, service, without_body, now);
  explain(*rules.error, result, outcome);
  return outcome;
}

std::variant<Done, CallOutcome> read_success(const AnswerRules& rules, bool already,
                                             const std::string& service, const HttpResult& result,
                                             cells::WallTime now,
                                             const std::vector<std::string>& secrets) {
  Done done{.properties = {}, .messages = {}, .already = already};
  if (rules.properties.empty() && rules.messages.empty()) return done;
  const auto document = parse_body(result);
  if (auto wrong = take_properties(rules, !already, document, done.properties))
    return invalid_answer(service, *wrong);
  done.messages = messages_of(rules, service, document, now, secrets);
  return done;
}

bool is_one_of(const json::Value& value, const std::vector<json::Value>& values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

CallOutcome failed_operation(const Poll& poll, const std::string& service, const HttpResult& result,
                             const json::Value& value) {
  auto outcome = rejection("The operation at " + service + " has failed: `" +
                           pointer_of(poll.until->value) + "` is " + json::dump(value) + ".");
  if (const auto& error = poll.request.answer.error) explain(*error, result, outcome);
  return outcome;
}

/// Nothing if `until` says that the operation is done.
std::optional<std::variant<Pending, PollFailed>> read_value(const Poll& poll,
                                                            const std::string& service,
                                                            const HttpResult& result,
                                                            cells::WallTime now) {
  if (!poll.until) return std::nullopt;
  const auto document = parse_body(result);
  if (!document)
    return PollFailed{invalid_answer(service, "answered with a body that is not JSON")};
  const json::Value* value = find(document->value, poll.until->value);
  if (value == nullptr) {
    return PollFailed{invalid_answer(service, "answered without `" + pointer_of(poll.until->value) +
                                                  "`, which says whether the operation has ended")};
  }
  if (is_one_of(*value, poll.until->done)) return std::nullopt;
  if (is_one_of(*value, poll.until->failed))
    return PollFailed{failed_operation(poll, service, result, *value), true};
  auto goes_on = pending(result, now);
  goes_on.state = "`" + pointer_of(poll.until->value) + "` was " + json::dump(*value);
  return goes_on;
}

}  // namespace

std::variant<Done, CallOutcome> read_answer(const AnswerRules& rules, const std::string& service,
                                            const HttpResult& result, cells::WallTime now,
                                            const std::vector<std::string>& secrets) {
  if (result.end != HttpResult::End::answered) return interpret(service, result, now, secrets);
  const auto verdict = verdict_on(rules, result.status);
  if (verdict == Verdict::done || verdict == Verdict::already_done) {
    return read_success(rules, verdict == Verdict::already_done, service, result, now, secrets);
  }
  auto outcome = read_explained_failure(rules, verdict, service, result, now);
  blank(outcome, secrets);
  return outcome;
}

std::variant<Done, Pending, PollFailed> read_poll(const Poll& poll, const std::string& service,
                                                  const HttpResult& result, cells::WallTime now,
                                                  const std::vector<std::string>& secrets) {
  const auto& rules = poll.request.answer;
  const bool answered = result.end == HttpResult::End::answered;
  const auto verdict = answered ? verdict_on(rules, result.status) : std::nullopt;
  if (verdict == Verdict::pending) return pending(result, now);
  if (verdict == Verdict::done || verdict == Verdict::already_done) {
    if (auto early = read_value(poll, service, result, now)) {
      if (auto* failure = std::get_if<PollFailed>(&*early)) {
        blank(failure->outcome, secrets);
        return std::move(*failure);
      }
      auto& goes_on = std::get<Pending>(*early);
      goes_on.state = truncate_text(text_for_people(goes_on.state, secrets), state_bytes_max);
      return std::move(goes_on);
    }
  }
  auto read = read_answer(rules, service, result, now, secrets);
  if (auto* failure = std::get_if<CallOutcome>(&read))
    return PollFailed{std::move(*failure), verdict.value_or(Verdict::retry) == Verdict::reject};
  return std::get<Done>(std::move(read));
}

}  // namespace celld::providers::mappings
