#include "src/providers/command/outcome.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "src/json/json.hpp"
#include "src/providers/http/outcome.hpp"
#include "src/providers/secrets.hpp"
#include "src/providers/shortage.hpp"

namespace celld::providers {
namespace {

using cells::CallOutcome;
using cells::Severity;
using Kind = CallOutcome::Kind;
using End = CommandResult::End;

CallOutcome failure(Kind kind, std::string code, std::string message) {
  CallOutcome outcome;
  outcome.kind = kind;
  outcome.code = std::move(code);
  outcome.message = std::move(message);
  return outcome;
}

// --- Standard output -----------------------------------------------------------------------------

/// Reads the output like an HTTP answer with this status.
CallOutcome as_http(const std::string& service, int status, std::string body, cells::WallTime now,
                    const std::vector<std::string>& secrets) {
  HttpResult result;
  result.end = HttpResult::End::answered;
  result.status = status;
  result.body = std::move(body);
  return interpret(service, result, now, secrets);
}

CallOutcome interpret_exit(const std::string& service, const CommandResult& result,
                           cells::WallTime now, const std::vector<std::string>& secrets) {
  constexpr int ok = 200;
  constexpr int bad_request = 400;
  if (result.value == 0) return as_http(service, ok, result.output, now, secrets);
  auto outcome = as_http(service, bad_request, result.output, now, secrets);
  const auto silent = as_http(service, bad_request, "", now, secrets);
  if (outcome.message == silent.message) {
    outcome.message = service + " ended with exit status " + std::to_string(result.value) + ".";
  }
  if (result.value == exit_temporary_failure) {
    outcome.kind = Kind::retryable;
    outcome.code = "provider_error";
  }
  return outcome;
}

CallOutcome interpret_end(const std::string& service, const CommandResult& result,
                          cells::WallTime now, const std::vector<std::string>& secrets) {
  switch (result.end) {
    case End::exited:
      return interpret_exit(service, result, now, secrets);
    case End::killed:
      return failure(Kind::unknown, "provider_error",
                     service + " was killed by signal " + std::to_string(result.value) + ".");
    case End::not_started:
      return failure(
          is_shortage(result.value) ? Kind::unable : Kind::retryable, "communications_error",
          service + " could not be started: " + std::generic_category().message(result.value) +
              ".");
    case End::timed_out:
      return failure(Kind::unknown, "timeout", service + " did not finish in time and was killed.");
    case End::too_large:
      return failure(Kind::retryable, "invalid_response",
                     service + " wrote more output than celld accepts (1 MiB) and was killed.");
    case End::lost:
      return failure(Kind::unknown, "provider_error",
                     service + " was killed because the command supervisor died.");
    case End::aborted:
      break;
  }
  return failure(Kind::aborted, "cancelled", "celld aborted " + service + ".");
}

// --- Standard error ------------------------------------------------------------------------------

std::size_t longest(const std::vector<std::string>& secrets) {
  std::size_t bytes = 0;
  for (const auto& secret : secrets) bytes = std::max(bytes, secret.size());
  return bytes;
}

/// Valid UTF-8 without control characters.
std::string clean(std::string text) {
  const auto is_control = [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; };
  text.erase(std::remove_if(text.begin(), text.end(), is_control), text.end());
  const auto parsed = json::parse(json::quote(text));
  const auto* document = std::get_if<json::Document>(&parsed);
  return document != nullptr ? document->value.get<std::string>() : std::string();
}

Severity severity_of(const CallOutcome& outcome) {
  if (outcome.kind == Kind::succeeded) return Severity::info;
  return outcome.kind == Kind::rejected ? Severity::error : Severity::warning;
}

}  // namespace

CallOutcome interpret(const std::string& service, const CommandResult& result, cells::WallTime now,
                      const std::vector<std::string>& secrets) {
  auto outcome = interpret_end(service, result, now, secrets);
  std::vector<cells::Message> messages;
  messages.reserve(result.errors.size() + outcome.messages.size());
  const auto severity = severity_of(outcome);
  for (const auto& line : result.errors) {
    messages.push_back({now, severity, service, message_text(line, secrets)});
  }
  std::move(outcome.messages.begin(), outcome.messages.end(), std::back_inserter(messages));
  const auto too_many = messages.size() - std::min(messages.size(), messages_max);
  messages.erase(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(too_many));
  outcome.messages = std::move(messages);
  return outcome;
}

/// Blanks secrets before truncating: the beginning of a secret is secret, too. Blanks them again
/// once the line is clean: a control character in the midst of a secret hides it only until then.
std::string message_text(const ErrorLine& line, const std::vector<std::string>& secrets) {
  const std::string cleaned = clean(blank_secrets(line.text, secrets, line.cut));
  return truncate_text(blank_secrets(cleaned, secrets, line.cut), text_bytes_max);
}

std::size_t error_line_bytes_max(const std::vector<std::string>& secrets) {
  return text_bytes_max + longest(secrets);
}

}  // namespace celld::providers
