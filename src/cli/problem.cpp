#include "src/cli/problem.hpp"

#include "src/cli/members.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

constexpr std::size_t quoted_bytes_max = 200;

/// Of a problem. Anything else is no answer of celld.
ExitCode exit_code_of(int status) {
  if (status == 404) return ExitCode::not_found;
  if (status >= 400 && status < 500) return ExitCode::refused;
  return ExitCode::unavailable;
}

std::string status_text(int status) {
  return " (" + std::to_string(status) + ")";
}

std::string text_of_problem(const json::Value& problem, int status) {
  std::string text = cleaned(text_at(problem, {"title"})) + status_text(status);
  if (const std::string detail = text_at(problem, {"detail"}); !detail.empty())
    text += "\n  " + cleaned(detail);
  for (const json::Value& error : elements_at(problem, {"errors"})) {
    const std::string pointer = text_at(error, {"pointer"});
    text += "\n  " + (pointer.empty() ? "" : cleaned(pointer) + ": ") +
            cleaned(text_at(error, {"detail"}));
  }
  return text;
}

std::string text_of_foreign_answer(const Answer& answer) {
  std::string text = "unexpected response, not from celld" + status_text(answer.status);
  if (!answer.body.empty()) text += "\n  " + cleaned(answer.body.substr(0, quoted_bytes_max));
  return text;
}

}  // namespace

bool is_problem(const Answer& answer) {
  const auto document = parse_answer(answer.body);
  return document && !text_at(*document, {"title"}).empty();
}

void check_member(const Answer& answer, std::string_view member) {
  const auto document = parse_answer(answer.body);
  if (!document || !document->is_object() || !document->contains(member))
    throw Failure(ExitCode::unavailable, text_of_foreign_answer(answer));
}

Failure failure_of(const Answer& answer) {
  if (!is_problem(answer)) return {ExitCode::unavailable, text_of_foreign_answer(answer)};
  std::string text = text_of_problem(*parse_answer(answer.body), answer.status);
  if (answer.status == 401) {
    text +=
        "\n  Set CELLD_TOKEN, or name a file with --token-file. If one is set, celld does not "
        "know it.";
  }
  return {exit_code_of(answer.status), text};
}

}  // namespace celld::cli
