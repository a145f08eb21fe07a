// The answer of a provider. An input is a status, a space, a Retry-After, a newline, and a body.
#include <algorithm>
#include <charconv>
#include <variant>

#include "src/json/json.hpp"
#include "src/providers/http/outcome.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using cells::CallOutcome;
using fuzz::must;
using providers::HttpResult;
using Kind = CallOutcome::Kind;

namespace {

const std::string secret = "sesame-0123456789";
constexpr cells::WallTime now{cells::milliseconds(1'795'000'000'000)};

HttpResult result_of(std::string_view input) {
  HttpResult result;
  result.end = HttpResult::End::answered;
  const std::string_view line = input.substr(0, input.find('\n'));
  result.body = input.substr(std::min(line.size() + 1, input.size()));
  std::from_chars(line.data(), line.data() + line.size(), result.status);
  if (const auto blank = line.find(' '); blank != std::string_view::npos)
    result.retry_after = std::string(line.substr(blank + 1));
  return result;
}

/// Whether the table allows the kind for this status, whatever the body.
bool is_allowed(Kind kind, int status) {
  if (status >= 200 && status < 300) return kind == Kind::succeeded || kind == Kind::retryable;
  if (status == 429) return kind == Kind::throttled;
  if (status == 401 || status == 403) return kind == Kind::unauthorized;
  if (status == 408 || status == 423 || status == 425) return kind == Kind::retryable;
  if (status >= 400 && status < 500) return kind == Kind::rejected;
  return kind == Kind::retryable;
}

bool is_code(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return c > 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '/';
         });
}

void check_words(const std::string& text) {
  must(text.size() <= providers::text_bytes_max, "a text has at most 4 KiB");
  must(fuzz::is_clean_text(text), "a text is UTF-8 without a NUL");
  must(text.find(secret) == std::string::npos, "a text reveals no secret");
}

void check_success(const CallOutcome& outcome) {
  must(outcome.code.empty() && outcome.message.empty(), "a success has no error");
  must(outcome.messages.size() <= providers::messages_max, "there are at most 100 messages");
  for (const cells::Message& message : outcome.messages) check_words(message.text);
  std::size_t bytes = 0;
  for (const auto& [name, text] : outcome.properties) {
    must(fuzz::is_clean_text(name), "a property's name is text");
    must(std::holds_alternative<json::Document>(json::parse(text)), "a property is JSON");
    bytes += name.size() + text.size();
  }
  must(bytes <= providers::properties_bytes_max, "properties have at most 256 KiB");
}

void check_failure(const CallOutcome& outcome) {
  must(is_code(outcome.code), "a failure has a code");
  check_words(outcome.code);
  must(!outcome.message.empty(), "a failure has a message");
  check_words(outcome.message);
  must(outcome.properties.empty(), "a failure has no result");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const HttpResult result = result_of(fuzz::text_of(data, size));
  const CallOutcome outcome = providers::interpret("dns", result, now, {secret});
  must(is_allowed(outcome.kind, result.status), "a status has an outcome that the table allows");
  if (outcome.kind == Kind::succeeded) {
    check_success(outcome);
  } else {
    check_failure(outcome);
  }
  if (outcome.retry_after)
    must(outcome.retry_after->count() >= 0 && *outcome.retry_after <= std::chrono::hours(366 * 24),
         "a wait is bounded");
  const std::string cut = providers::truncate_text(result.body, 7);
  must(cut.size() <= 7 && result.body.starts_with(cut), "a text is truncated at its end");
  return 0;
}
