// An answer that cellctl shows. Whatever a server sends, the text is safe for a terminal.
#include <algorithm>
#include <array>
#include <string>
#include <variant>
#include <vector>

#include "src/cli/batch_view.hpp"
#include "src/cli/cell_view.hpp"
#include "src/cli/job_view.hpp"
#include "src/cli/members.hpp"
#include "src/cli/problem.hpp"
#include "src/cli/reload_view.hpp"
#include "src/cli/schedule_view.hpp"
#include "src/cli/service_view.hpp"
#include "src/cli/text.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using cli::TableLook;
using fuzz::must;

namespace {

constexpr cells::WallTime now{cells::milliseconds(1'795'000'000'000)};
constexpr std::size_t input_bytes_max = 4096;
constexpr std::array<TableLook, 4> looks = {{{0, false}, {0, true}, {40, false}, {13, true}}};

/// Removes the escape sequences that celld's own colours consist of.
std::string without_colours(std::string text) {
  for (const std::string escape :
       {"\x1b[0m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"}) {
    for (auto at = text.find(escape); at != std::string::npos; at = text.find(escape, at))
      text.erase(at, escape.size());
  }
  return text;
}

bool has_code_point_from(std::string_view text, std::string_view first, std::string_view last) {
  for (std::size_t i = 0; i + first.size() <= text.size(); ++i) {
    const std::string_view character = text.substr(i, first.size());
    if (character >= first && character <= last) return true;
  }
  return false;
}

void check_safe(std::string_view text) {
  must(fuzz::is_clean_text(text), "a text is UTF-8 without a NUL");
  must(std::none_of(text.begin(), text.end(),
                    [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }),
       "a text has no control characters");
  must(!has_code_point_from(text, "\xc2\x80", "\xc2\x9f"), "a text has no C1 control characters");
  must(!has_code_point_from(text, "\xe2\x80\xa8", "\xe2\x80\xae") &&
           !has_code_point_from(text, "\xe2\x81\xa6", "\xe2\x81\xa9"),
       "a text does not change its direction");
}

void check_line(const std::string& text) {
  check_safe(text);
  must(text.find('\n') == std::string::npos, "a sentence is one line");
}

void check_lines(const std::string& shown, const TableLook& look) {
  const std::string text = look.colour ? without_colours(shown) : shown;
  check_safe(text);
  must(text.empty() || text.ends_with('\n'), "a text is made of lines");
  for (std::size_t at = 0; at < text.size() && look.width > 0;) {
    const std::size_t end = text.find('\n', at);
    must(cli::width_of(std::string_view(text).substr(at, end - at)) <= look.width,
         "a line fits the terminal");
    at = end + 1;
  }
}

/// The answer as a list, and as its only item.
std::vector<json::Value> items_of(const json::Value& answer) {
  const json::Value& items = cli::elements_at(answer, {"items"});
  std::vector<json::Value> all(items.begin(), items.end());
  all.push_back(answer);
  return all;
}

void check_views(const json::Value& answer, const TableLook& look) {
  cli::JobTable jobs(now);
  cli::CellTable cells;
  cli::ServiceTable services;
  cli::BatchTable batches;
  cli::ScheduleTable schedules;
  const cli::SentLines sent{{3, 7}, 101};
  for (const json::Value& item : items_of(answer)) {
    jobs.add(item);
    cells.add(item);
    services.add(item);
    batches.add(item);
    schedules.add(item);
    check_safe(without_colours(cli::schedule_details(item, look)));
    cli::batch_report(item, sent);
    sent.after(item);
    cli::outcome_of_batch(item);
    check_line(cli::job_sentence(item));
    check_line(cli::cell_sentence(item));
    const std::string change = without_colours(cli::change_line(item, look));
    check_safe(change);
    must(std::count(change.begin(), change.end(), '\n') == 1, "a change is one line");
    check_safe(without_colours(cli::job_details(item, now, look)));
  }
  check_lines(jobs.text(look), look);
  check_lines(cells.text(look), look);
  check_lines(services.text(look), look);
  check_lines(schedules.text(look), look);
  check_lines(cli::reload_text(answer), {});
}

void check_problem(std::string_view body) {
  for (const int status : {200, 404, 409, 500}) {
    const cli::Answer answer{.status = status, .body = std::string(body)};
    const bool of_celld = cli::is_problem(answer);
    const cli::Failure failure = cli::failure_of(answer);
    check_safe(failure.what());
    must(failure.code() == (of_celld && status == 404   ? cli::ExitCode::not_found
                            : of_celld && status == 409 ? cli::ExitCode::refused
                                                        : cli::ExitCode::unavailable),
         "a status of celld has its exit code");
  }
}

void check_text(std::string_view text) {
  const std::string line = cli::cleaned(text);
  check_line(line);
  must(cli::cleaned(line) == line, "a clean text stays as it is");
  for (const std::size_t width : {0, 1, 7}) {
    const std::string cut = cli::fitted(line, width);
    check_line(cut);
    must(cli::width_of(cut) <= width, "a text is cut to its width");
  }
  const std::string document = cli::json_for_terminal(text);
  check_safe(document);
  const auto original = json::parse(text);
  if (const auto* parsed = std::get_if<json::Document>(&original)) {
    if (text.find_first_of("\t\r") != std::string_view::npos) return;
    const auto shown = json::parse(document);
    const auto* again = std::get_if<json::Document>(&shown);
    must(again != nullptr && again->value == parsed->value,
         "a document for the terminal is the same document");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body = fuzz::text_of(data, std::min(size, input_bytes_max));
  check_text(body);
  check_problem(body);
  const auto answer = cli::parse_answer(body);
  if (!answer) return 0;
  check_views(*answer, looks.at(fuzz::Dice(body).roll(looks.size())));
  return 0;
}
