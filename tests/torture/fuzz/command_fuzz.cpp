// What a command leaves behind. An input is its exit status, a newline, its standard output, a line
// "--", and its standard error.
#include <algorithm>
#include <charconv>
#include <vector>

#include "src/json/json.hpp"
#include "src/providers/command/errors.hpp"
#include "src/providers/command/outcome.hpp"
#include "src/providers/http/outcome.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using cells::CallOutcome;
using fuzz::must;
using providers::CommandErrors;
using providers::CommandResult;
using providers::ErrorLine;
using Kind = CallOutcome::Kind;

namespace {

const std::string secret = "sesame-0123456789";
constexpr std::size_t lines_max = 3;
constexpr std::size_t line_bytes_max = 40;

struct Input {
  CommandResult result;  ///< Without its errors.
  std::string_view errors;
};

Input input_of(std::string_view text) {
  Input input;
  input.result.end = CommandResult::End::exited;
  const std::string_view line = text.substr(0, text.find('\n'));
  std::from_chars(line.data(), line.data() + line.size(), input.result.value);
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  static constexpr std::string_view border = "\n--\n";
  const std::size_t end = std::min(text.find(border), text.size());
  input.result.output = text.substr(0, end);
  input.errors = text.substr(std::min(end + border.size(), text.size()));
  return input;
}

/// The last lines that are not blank, each cut.
std::vector<ErrorLine> expected_lines(std::string_view errors) {
  std::vector<ErrorLine> lines;
  while (!errors.empty()) {
    const std::string_view line = errors.substr(0, errors.find('\n'));
    errors.remove_prefix(std::min(line.size() + 1, errors.size()));
    const std::string_view kept = line.substr(0, line_bytes_max);
    if (kept.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    lines.push_back({std::string(kept), kept != line});
    if (lines.size() > lines_max) lines.erase(lines.begin());
  }
  return lines;
}

/// Reads the errors in pieces, as they arrive.
std::vector<ErrorLine> read_lines(std::string_view errors) {
  fuzz::Dice dice(errors);
  CommandErrors reader(lines_max, line_bytes_max);
  while (!errors.empty()) {
    const std::size_t size = std::min(errors.size(), 1 + dice.roll(20));
    reader.add(errors.substr(0, size));
    errors.remove_prefix(size);
  }
  return reader.take();
}

void check_lines(const std::vector<ErrorLine>& lines, const std::vector<ErrorLine>& expected) {
  must(std::equal(lines.begin(), lines.end(), expected.begin(), expected.end(),
                  [](const ErrorLine& a, const ErrorLine& b) {
                    return a.text == b.text && a.cut == b.cut;
                  }),
       "the last lines are kept however they are split");
}

void check_text(const std::string& text) {
  must(text.size() <= providers::text_bytes_max, "a text has at most 4 KiB");
  must(fuzz::is_clean_text(text), "a text is UTF-8 without a NUL");
  must(text.find(secret) == std::string::npos, "a text reveals no secret");
}

void check_messages(const CallOutcome& outcome, const std::vector<ErrorLine>& lines) {
  must(outcome.messages.size() >= std::min(lines.size(), providers::messages_max),
       "each line of standard error is a message");
  must(outcome.messages.size() <= providers::messages_max, "there are at most 100 messages");
  for (const cells::Message& message : outcome.messages) check_text(message.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& text = outcome.messages[i].text;
    must(std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; }),
         "a line of standard error has no control characters");
    for (std::size_t bytes = 1; lines[i].cut && bytes < secret.size(); ++bytes)
      must(!text.ends_with(secret.substr(0, bytes)), "a cut line does not end in a secret");
  }
}

void check_kind(const CallOutcome& outcome, int status) {
  if (status == 0) {
    must(outcome.kind == Kind::succeeded || outcome.code == "invalid_response",
         "exit status 0 is a success or an invalid response");
  } else if (status == providers::exit_temporary_failure) {
    must(outcome.kind == Kind::retryable && outcome.code == "provider_error",
         "exit status 75 is a temporary failure");
  } else {
    must(outcome.kind == Kind::rejected, "any other exit status is a rejection");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input = input_of(fuzz::text_of(data, size));
  const auto lines = expected_lines(input.errors);
  check_lines(read_lines(input.errors), lines);
  input.result.errors = lines;
  const auto outcome = providers::interpret("dns", input.result, {}, {secret});
  check_kind(outcome, input.result.value);
  if (outcome.kind != Kind::succeeded) {
    must(!outcome.code.empty() && !outcome.message.empty(), "a failure has a code and a message");
    check_text(outcome.code);
    check_text(outcome.message);
    must(outcome.properties.empty(), "a failure has no result");
  }
  check_messages(outcome, lines);
  return 0;
}
