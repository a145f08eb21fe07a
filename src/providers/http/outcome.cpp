#include "src/providers/http/outcome.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <variant>

#include "src/json/json.hpp"
#include "src/json/number_faults.hpp"
#include "src/providers/http/answer_limits.hpp"
#include "src/providers/secrets.hpp"

namespace celld::providers {
namespace {

using cells::CallOutcome;
using Kind = CallOutcome::Kind;

constexpr std::size_t code_bytes_max = 64;
constexpr std::int64_t retry_after_seconds_max = std::int64_t{366} * 24 * 3600;

CallOutcome failure(Kind kind, std::string code, std::string message) {
  CallOutcome outcome;
  outcome.kind = kind;
  outcome.code = std::move(code);
  outcome.message = std::move(message);
  return outcome;
}

CallOutcome invalid_response(const std::string& service, const std::string& what) {
  return failure(Kind::retryable, "invalid_response", service + " " + what + ".");
}

// --- Success -----------------------------------------------------------------------------------

bool is_blank(std::string_view body) {
  return body.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// Reads `properties`; returns what is wrong with them, if anything.
std::optional<std::string> read_properties(const json::Document& document,
                                           cells::Properties& properties) {
  const auto found = document.value.find("properties");
  if (found == document.value.end()) return std::nullopt;
  if (!found->is_object()) return "answered with `properties` that are not an object";
  if (json::has_number_fault(document, "/properties", *found)) {
    return "answered with a number in its properties that is out of range";
  }
  std::size_t bytes = 0;
  for (const auto& [name, value] : found->items()) {
    auto text = json::dump(value);
    bytes += name.size() + text.size();
    if (bytes > properties_bytes_max) return "answered with more than 256 KiB of properties";
    properties.emplace(name, std::move(text));
  }
  return std::nullopt;
}

std::optional<cells::Message> read_message(const json::Value& value, const std::string& service,
                                           cells::WallTime now) {
  if (!value.is_object()) return std::nullopt;
  const auto text = value.find("text");
  if (text == value.end() || !text->is_string()) return std::nullopt;
  const auto severity = value.find("severity");
  if (severity != value.end() && !severity->is_string()) return std::nullopt;
  const auto name = severity == value.end() ? "info" : severity->get<std::string>();
  return cells::Message{
      .time = now,
      // An unknown severity does not invalidate a success.
      .severity = cells::parse_severity(name).value_or(cells::Severity::info),
      .service = service,
      .text = text->get<std::string>(),
  };
}

std::optional<std::string> read_messages(const json::Value& body, const std::string& service,
                                         cells::WallTime now,
                                         std::vector<cells::Message>& messages) {
  const auto found = body.find("messages");
  if (found == body.end()) return std::nullopt;
  if (!found->is_array()) return "answered with `messages` that are not an array";
  const auto too_many = found->size() - std::min(found->size(), messages_max);
  for (std::size_t i = 0; i < found->size(); ++i) {
    auto message = read_message((*found)[i], service, now);
    if (!message) return "answered with a message that is not an object with a text";
    if (i >= too_many) messages.push_back(std::move(*message));  // Drops the oldest.
  }
  return std::nullopt;
}

CallOutcome interpret_success(const std::string& service, const HttpResult& result,
                              cells::WallTime now) {
  CallOutcome outcome;
  outcome.kind = Kind::succeeded;
  if (is_blank(result.body)) return outcome;
  const auto parsed = json::parse(result.body, answer_limits);
  if (const auto* error = std::get_if<json::SyntaxError>(&parsed)) {
    if (result.body.starts_with("\x1f\x8b")) {
      return invalid_response(service, "answered with a compressed body (gzip)");
    }
    return invalid_response(service, "answered with a body that cannot be read: " + error->detail);
  }
  const auto* document = std::get_if<json::Document>(&parsed);
  if (!document->value.is_object()) {
    return invalid_response(service, "answered with a body that is not a JSON object");
  }
  auto wrong = read_properties(*document, outcome.properties);
  if (!wrong) wrong = read_messages(document->value, service, now, outcome.messages);
  return wrong ? invalid_response(service, *wrong) : outcome;
}

// --- Refusals ----------------------------------------------------------------------------------

bool is_code(std::string_view text) {
  return !text.empty() && text.size() <= code_bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

std::string string_member(const json::Value& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The provider's own `message`, or `detail` or `title` of RFC 9457; empty: it has none.
std::string message_of(const json::Value& object) {
  for (const char* name : {"message", "detail", "title"}) {
    auto text = string_member(object, name);
    if (!is_blank(text)) return text;
  }
  return "";
}

/// Uses the provider's own `code` and message.
CallOutcome interpret_rejection(const std::string& service, const HttpResult& result) {
  auto outcome = failure(
      Kind::rejected, "provider_rejected",
      service + " refused the request with HTTP status " + std::to_string(result.status) + ".");
  const auto parsed = json::parse(result.body, answer_limits);
  const auto* document = std::get_if<json::Document>(&parsed);
  if (document == nullptr || !document->value.is_object()) return outcome;
  if (auto code = string_member(document->value, "code"); is_code(code)) {
    outcome.code = std::move(code);
  }
  if (auto text = message_of(document->value); !text.empty()) outcome.message = std::move(text);
  return outcome;
}

/// Appends the provider's own message, if it has one.
CallOutcome explained(CallOutcome outcome, const HttpResult& result) {
  const auto parsed = json::parse(result.body, answer_limits);
  const auto* document = std::get_if<json::Document>(&parsed);
  if (document == nullptr || !document->value.is_object()) return outcome;
  if (const auto text = message_of(document->value); !text.empty()) append_message(text, outcome);
  return outcome;
}

CallOutcome interpret_status(const std::string& service, const HttpResult& result,
                             cells::WallTime now) {
  const int status = result.status;
  const auto answered = service + " answered with HTTP status " + std::to_string(status);
  if (status >= 200 && status < 300) return interpret_success(service, result, now);
  if (status == 401 || status == 403) {
    // Not in the provider's own words, which may repeat the credentials in another form.
    return failure(Kind::unauthorized, "provider_error",
                   answered + ": it does not accept celld's credentials.");
  }
  if (status == 408 || status == 423 || status == 425 || status == 429 ||
      (status >= 500 && status < 600)) {
    return retryable_answer(service, result, now);
  }
  if (status >= 400 && status < 500) return interpret_rejection(service, result);
  return invalid_response(service, "answered with HTTP status " + std::to_string(status) +
                                       ", which is neither a success nor an error");
}

/// Blanks secrets before truncating: the beginning of a secret is secret, too.
std::string for_people(const std::string& text, const std::vector<std::string>& secrets) {
  return truncate_text(blank_secrets(text, secrets), text_bytes_max);
}

std::string with_reason(std::string sentence, const std::string& reason) {
  if (!reason.empty()) sentence += ": " + reason;
  return sentence + ".";
}

CallOutcome interpret_end(const std::string& service, const HttpResult& result,
                          cells::WallTime now) {
  switch (result.end) {
    case HttpResult::End::answered:
      return interpret_status(service, result, now);
    case HttpResult::End::not_sent:
      return failure(Kind::retryable, "communications_error",
                     with_reason(service + " could not be reached", result.reason));
    case HttpResult::End::unable:
      return failure(Kind::unable, "communications_error",
                     with_reason("celld could not call " + service, result.reason));
    case HttpResult::End::not_reached:
      return failure(Kind::retryable, "timeout", service + " could not be reached in time.");
    case HttpResult::End::timed_out:
      return failure(Kind::unknown, "timeout", service + " did not answer in time.");
    case HttpResult::End::broken:
      return failure(
          Kind::unknown, "communications_error",
          with_reason("The connection to " + service + " ended before its answer was complete",
                      result.reason));
    case HttpResult::End::garbled:
      return invalid_response(service, "answered with something that is not HTTP");
    case HttpResult::End::too_large:
      return invalid_response(service,
                              "answered with more than celld accepts (64 KiB of headers, 1 MiB of "
                              "body)");
    case HttpResult::End::aborted:
      break;
  }
  return failure(Kind::aborted, "cancelled", "celld aborted the call to " + service + ".");
}

}  // namespace

CallOutcome interpret(const std::string& service, const HttpResult& result, cells::WallTime now,
                      const std::vector<std::string>& secrets) {
  auto outcome = interpret_end(service, result, now);
  blank(outcome, secrets);
  return outcome;
}

void blank(CallOutcome& outcome, const std::vector<std::string>& secrets) {
  outcome.message = for_people(outcome.message, secrets);
  outcome.code = for_people(outcome.code, secrets);
  for (auto& message : outcome.messages) {
    message.text = for_people(message.text, secrets);
  }
}

CallOutcome failed_answer(const std::string& service, const HttpResult& result,
                          cells::WallTime now) {
  if (result.status < 200 || result.status >= 300) return interpret_status(service, result, now);
  return invalid_answer(service, "answered with HTTP status " + std::to_string(result.status) +
                                     ", which its mapping does not expect");
}

CallOutcome retryable_answer(const std::string& service, const HttpResult& result,
                             cells::WallTime now) {
  auto outcome =
      failure(result.status == 429 ? Kind::throttled : Kind::retryable, "provider_error",
              service + " answered with HTTP status " + std::to_string(result.status) + ".");
  if (result.retry_after) outcome.retry_after = parse_retry_after(*result.retry_after, now);
  outcome.pauses_service =
      outcome.retry_after > milliseconds{0} && (result.status == 429 || result.status == 503);
  // From a gateway: the provider behind it may have carried out the request.
  outcome.in_doubt = result.status == 502 || result.status == 504;
  const bool is_refused = result.status == 401 || result.status == 403;
  return is_refused ? outcome : explained(std::move(outcome), result);
}

CallOutcome rejected_answer(const std::string& service, const HttpResult& result) {
  return interpret_rejection(service, result);
}

CallOutcome invalid_answer(const std::string& service, const std::string& what) {
  return invalid_response(service, what);
}

CallOutcome rejection(std::string message) {
  return failure(Kind::rejected, "provider_rejected", std::move(message));
}

bool is_error_code(std::string_view text) {
  return is_code(text);
}

void append_message(const std::string& text, CallOutcome& outcome) {
  outcome.message.back() = ':';  // Instead of its full stop.
  outcome.message += " " + text;
}

std::string text_for_people(const std::string& text, const std::vector<std::string>& secrets) {
  return for_people(text, secrets);
}

std::optional<milliseconds> parse_retry_after(std::string_view text, cells::WallTime now) {
  const auto seconds_to_wait = [](std::int64_t seconds) {
    return std::chrono::seconds{std::clamp<std::int64_t>(seconds, 0, retry_after_seconds_max)};
  };
  if (text.empty()) return std::nullopt;
  if (text.find_first_not_of("0123456789") == std::string_view::npos) {
    std::int64_t seconds = retry_after_seconds_max;  // Stays when the number exceeds 64 bits.
    std::from_chars(text.data(), text.data() + text.size(), seconds);
    return seconds_to_wait(seconds);
  }
  // Every HTTP date has a time of day; curl_getdate() also accepts much that is not an HTTP date.
  if (text.find(':') == std::string_view::npos) return std::nullopt;
  const auto date = static_cast<std::int64_t>(curl_getdate(std::string(text).c_str(), nullptr));
  if (date < 0) return std::nullopt;
  const auto seconds_now = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  return seconds_to_wait(date - seconds_now);
}

std::string truncate_text(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text;
}

}  // namespace celld::providers
