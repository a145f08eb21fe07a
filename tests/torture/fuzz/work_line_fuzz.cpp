// The lines that a worker's command writes to its standard error, and its output. An input has a
// line on each line; the last one is the output. What cellctl makes of them is read by the parsers
// of celld: it must refuse no heartbeat and no report.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/cli/worker/leased_run.hpp"
#include "src/cli/worker/work_line.hpp"
#include "src/http/api/lease_bodies.hpp"
#include "src/json/json.hpp"
#include "src/providers/http/outcome.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using cli::LeasedRun;
using cli::MessageLine;
using cli::ProgressLine;
using fuzz::must;
using providers::CommandResult;

namespace {

constexpr cells::SteadyTime start{cells::milliseconds(1'000'000'000)};
constexpr cells::WallTime wall{cells::milliseconds(1'795'000'000'000)};

// --- One line ------------------------------------------------------------------------------------

constexpr std::string_view blanks = " \t\r";

/// The words of a line, at most two: the second is the rest of the line.
std::vector<std::string> words_of(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  line = line.substr(0, line.find_last_not_of(blanks) + 1);
  if (line.empty()) return {};
  const std::size_t end = std::min(line.find_first_of(blanks), line.size());
  std::vector<std::string> words{std::string(line.substr(0, end))};
  line.remove_prefix(end);
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  if (!line.empty()) words.emplace_back(line);
  return words;
}

/// The value of digits with at most one point between them, such as 0.4, and of other numbers that
/// strtod reads.
std::optional<double> share_of(std::string text, bool only_plain) {
  const bool percent = text.ends_with('%');
  if (percent) text.pop_back();
  const bool plain = !text.empty() && text.front() != '.' && text.back() != '.' &&
                     std::count(text.begin(), text.end(), '.') <= 1 &&
                     text.find_first_not_of("0123456789.") == std::string::npos;
  if (only_plain && !plain) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  return percent ? value / 100 : value;
}

void check_progress(double share, const std::vector<std::string>& words) {
  must(words.size() == 2 && words[0] == "progress", "a progress is announced by its word");
  must(share >= 0 && share <= 1, "a progress is 0 to 1");
  const auto value = share_of(words[1], false);
  must(value && std::abs(*value - share) < 1e-15, "a progress is the number of its line");
}

void check_line(const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  const bool is_message = words.size() == 2 && words[0] == "message";
  const auto parsed = cli::parse_work_line(line);
  const auto* message = std::get_if<MessageLine>(&parsed);
  must((message != nullptr) == is_message, "a message is announced by its word");
  if (message != nullptr) must(message->text == words[1], "a message is the rest of its line");
  if (const auto* progress = std::get_if<ProgressLine>(&parsed)) {
    check_progress(progress->share, words);
  } else if (words.size() == 2 && words[0] == "progress") {
    const auto share = share_of(words[1], true);
    must(!share || *share > 1, "a plain number from 0 to 1 is a progress");
  }
}

// --- All of them ---------------------------------------------------------------------------------

http::Request request_of(std::string body) {
  http::Request request;
  request.headers.emplace_back("content-type", "application/json");
  request.body = std::move(body);
  return request;
}

LeasedRun a_run() {
  cli::GrantedLease lease;
  lease.name = "L1";
  lease.job = "1m84w5wj00000";
  lease.service = "vm";
  lease.expires_in = std::chrono::seconds(30);
  return {lease, std::chrono::seconds(5), start};
}

/// Each heartbeat is answered, so that all messages are sent.
void check_heartbeats(LeasedRun run, std::size_t lines) {
  cells::SteadyTime now = start;
  for (std::size_t sent = 0; sent <= lines; ++sent) {
    const auto read = api::parse_heartbeat(request_of(run.take_heartbeat()));
    const auto* heartbeat = std::get_if<api::Heartbeat>(&read);
    must(heartbeat != nullptr, "celld reads each heartbeat");
    now += std::chrono::seconds(1);
    run.on_term({.expires_in = std::chrono::seconds(30)}, now, now);
    if (heartbeat->message.empty() && !heartbeat->progress) return;
  }
  must(false, "no line is sent twice");
}

void check_report(const LeasedRun& run, const cells::CallOutcome& outcome) {
  const auto read = api::parse_reports(request_of("[" + run.report() + "]"));
  const auto* reports = std::get_if<std::vector<api::Report>>(&read);
  must(reports != nullptr && reports->size() == 1, "celld reads each report");
  const api::Report& report = reports->front();
  must(report.lease == "L1" && report.outcome && report.faults.empty(), "a report has no faults");
  must(report.outcome->code == outcome.code && report.outcome->message == outcome.message,
       "a report has the error of its command");
  must(report.outcome->properties == outcome.properties, "a report has the properties");
  must(report.outcome->messages.size() <= providers::messages_max,
       "a report has at most 100 messages");
}

CommandResult result_of(std::string output, std::vector<providers::ErrorLine> errors, int status) {
  CommandResult result;
  result.end = CommandResult::End::exited;
  result.value = status;
  result.output = std::move(output);
  result.errors = std::move(errors);
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text_of(data, size);
  std::string_view text = input;
  LeasedRun run = a_run();
  std::vector<providers::ErrorLine> errors;
  std::size_t lines = 0;
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string line(text.substr(0, end));
    text.remove_prefix(end + 1);
    ++lines;
    check_line(line);
    const bool taken = run.on_line(line, start);
    must(taken != std::holds_alternative<cli::OtherLine>(cli::parse_work_line(line)),
         "a line of the protocol is taken");
    if (!taken) errors.push_back({line, false});
  }
  check_heartbeats(run, lines);
  static constexpr std::array<int, 5> statuses = {0, 1, 75, 126, 137};
  const int status = statuses.at(fuzz::Dice(input).roll(statuses.size()));
  check_report(run, run.on_end(result_of(std::string(text), errors, status), wall, start));
  return 0;
}
