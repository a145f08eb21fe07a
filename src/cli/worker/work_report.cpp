#include "src/cli/worker/work_report.hpp"

#include "src/json/json.hpp"

namespace celld::cli {
namespace {

using cells::CallOutcome;

std::string messages_text(const CallOutcome& outcome) {
  std::string text = "[";
  for (const cells::Message& message : outcome.messages) {
    if (message.text.empty()) continue;
    if (text.back() != '[') text += ',';
    text += R"({"severity":)" + json::quote(cells::to_string(message.severity)) + R"(,"text":)";
    json::append_quoted(text, message.text);
    text += '}';
  }
  return text + "]";
}

/// The values are JSON text already.
std::string properties_text(const cells::Properties& properties) {
  std::string text = "{";
  for (const auto& [name, value] : properties) {
    if (text.back() != '{') text += ',';
    text += json::quote(name) + ":" + value;
  }
  return text + "}";
}

}  // namespace

std::string report_text(const std::string& lease, const CallOutcome& outcome) {
  std::string text = R"({"lease":)" + json::quote(lease);
  if (outcome.kind == CallOutcome::Kind::succeeded) {
    text += R"(,"outcome":"complete","properties":)" + properties_text(outcome.properties);
  } else {
    const bool retryable = outcome.kind != CallOutcome::Kind::rejected;
    text += R"(,"outcome":"fail","code":)" + json::quote(outcome.code);
    text += R"(,"message":)" + json::quote(outcome.message);
    text += retryable ? R"(,"retryable":true)" : R"(,"retryable":false)";
  }
  return text + R"(,"messages":)" + messages_text(outcome) + "}";
}

}  // namespace celld::cli
