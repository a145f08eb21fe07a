#include "src/cli/batch_view.hpp"

#include <algorithm>

#include "src/cli/members.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

constexpr std::size_t bar_width = 30;

TableCell count(const json::Value& batch, Path path) {
  return {std::to_string(integer_at(batch, path))};
}

std::string percent(double share) {
  return std::to_string(static_cast<int>(std::clamp(share, 0.0, 1.0) * 100)) + "%";
}

std::string error_text(const json::Value& error, const SentLines& sent) {
  std::string text = "  line " + std::to_string(sent.in_file(integer_at(error, {"line"}))) + ": " +
                     std::to_string(integer_at(error, {"status"})) + " " +
                     cleaned(text_at(error, {"detail"})) + "\n";
  for (const auto& fault : elements_at(error, {"errors"})) {
    const std::string pointer = text_at(fault, {"pointer"});
    text += "    " + (pointer.empty() ? "" : cleaned(pointer) + " ") +
            cleaned(text_at(fault, {"detail"})) + "\n";
  }
  return text;
}

}  // namespace

BatchTable::BatchTable()
    : table_({{"BATCH"},
              {"DONE", true},
              {"TOTAL", true},
              {"WAITING", true},
              {"RUNNING", true},
              {"RETRYING", true},
              {"SUCCEEDED", true},
              {"FAILED", true},
              {"CANCELLED", true},
              {"FORGOTTEN", true}}) {}

void BatchTable::add(const json::Value& batch) {
  // The sum of untrusted numbers may overflow.
  std::uint64_t waiting = 0;
  for (const char* state : {"queued", "scheduled", "compensating"})
    waiting += static_cast<std::uint64_t>(integer_at(batch, {"states", state}));
  const bool finished = is_finished(batch);
  table_.add({{cleaned(text_at(batch, {"id"}))},
              {percent(number_at(batch, {"progress"})), finished ? Tone::good : Tone::waiting},
              count(batch, {"total"}),
              {std::to_string(waiting)},
              count(batch, {"states", "running"}),
              count(batch, {"states", "retrying"}),
              count(batch, {"states", "succeeded"}),
              count(batch, {"states", "failed"}),
              count(batch, {"states", "cancelled"}),
              count(batch, {"states", "forgotten"})});
}

bool is_finished(const json::Value& batch) {
  return member_at(batch, {"finished_at"}).is_string();
}

ExitCode outcome_of_batch(const json::Value& batch) {
  if (!is_finished(batch)) return ExitCode::not_ended;
  const bool all = integer_at(batch, {"states", "succeeded"}) == integer_at(batch, {"total"});
  return all ? ExitCode::ok : ExitCode::job_not_succeeded;
}

std::uint64_t SentLines::in_file(std::int64_t line) const {
  const auto index = static_cast<std::uint64_t>(std::max<std::int64_t>(line, 1)) - 1;
  return index < again.size() ? again[index] : first + (index - again.size());
}

SentLines SentLines::after(const json::Value& report) const {
  SentLines rest;
  for (const auto& line : elements_at(report, {"refused_lines"})) {
    if (line.is_number_integer()) rest.again.push_back(in_file(line.get<std::int64_t>()));
  }
  const auto stopped = std::max<std::int64_t>(integer_at(report, {"stopped_at_line"}), 1);
  const auto sent_again = static_cast<std::int64_t>(again.size());
  for (auto line = stopped; line <= sent_again; ++line) rest.again.push_back(in_file(line));
  rest.first = stopped <= sent_again ? first : in_file(stopped);
  return rest;
}

std::string counts_text(std::int64_t accepted, std::int64_t replayed, std::int64_t rejected) {
  return std::to_string(accepted) + " accepted, " + std::to_string(replayed) +
         " submitted before, " + std::to_string(rejected) + " rejected";
}

std::string batch_report(const json::Value& report, const SentLines& sent) {
  std::string text = "batch " + cleaned(text_at(report, {"id"})) + ": " +
                     counts_text(integer_at(report, {"accepted"}), integer_at(report, {"replayed"}),
                                 integer_at(report, {"rejected"})) +
                     "\n";
  const auto& stopped = member_at(report, {"stopped_at_line"});
  // Lines for which there was no room are sent again.
  const auto& refused_lines = elements_at(report, {"refused_lines"});
  std::int64_t listed = 0;
  for (const auto& error : elements_at(report, {"errors"})) {
    text += error_text(error, sent);
    const auto& line = member_at(error, {"line"});
    const auto refusal = std::find(refused_lines.begin(), refused_lines.end(), line);
    if (line != stopped && refusal == refused_lines.end()) ++listed;
  }
  const auto refused = refused_lines.size();
  const auto rejected = integer_at(report, {"rejected"}) - static_cast<std::int64_t>(refused);
  if (rejected > listed) {
    text += "  and " + std::to_string(rejected - listed) + " more rejected lines, not listed\n";
  }
  if (stopped.is_number_integer()) {
    text += "The batch ended early. The lines before line " +
            std::to_string(sent.in_file(stopped.get<std::int64_t>())) + " were processed";
    if (refused > 0) text += ", except " + std::to_string(refused) + " for which there was no room";
    text += ". No line from there on was accepted.\n";
  }
  return text;
}

std::string progress_line(const UploadProgress& progress, bool with_bar) {
  const auto seconds =
      static_cast<double>(std::max<std::int64_t>(progress.elapsed.count(), 1)) / 1000;
  const auto rate = static_cast<std::uint64_t>(
      static_cast<double>(progress.lines - progress.lines_before) / seconds);
  std::string text = std::to_string(progress.lines) + " lines, " + std::to_string(rate) + "/s";
  if (!progress.bytes_total || *progress.bytes_total == 0) return text;
  const double share = std::min(
      1.0, static_cast<double>(progress.bytes) / static_cast<double>(*progress.bytes_total));
  const auto sent = static_cast<double>(progress.bytes - progress.bytes_before);
  if (sent > 0) {
    const double rest = (1 - share) * static_cast<double>(*progress.bytes_total);
    const auto left = static_cast<std::int64_t>(seconds * 1000 * rest / sent);
    text += ", " + duration_text(milliseconds(left)) + " left";
  }
  if (!with_bar) return percent(share) + ", " + text;
  const auto filled = static_cast<std::size_t>(share * bar_width);
  return "[" + std::string(filled, '#') + std::string(bar_width - filled, '-') + "] " +
         percent(share) + "  " + text;
}

}  // namespace celld::cli
