#include "src/cli/batch_submit.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/batch_pace.hpp"
#include "src/cli/batch_view.hpp"
#include "src/cli/line_source.hpp"
#include "src/cli/members.hpp"
#include "src/cli/problem.hpp"
#include "src/cli/session.hpp"
#include "src/cli/signals.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

using std::chrono::steady_clock;

constexpr int retries_default = 3;
constexpr std::int64_t retries_max = 100;
constexpr milliseconds pause_first{500};
constexpr milliseconds pause_max{60'000};
constexpr milliseconds paint_interval{200};
constexpr milliseconds plain_interval{5000};
/// A limit on submissions per second holds the sender back, and celld may drop the rest before it
/// answers.
constexpr milliseconds held_back_max = std::chrono::hours(1);

/// ": " and the detail of the error; empty if the error has none.
std::string reason_of(const json::Value& error) {
  const auto detail = text_at(error, {"detail"});
  return detail.empty() ? "" : ": " + cleaned(detail);
}

/// "line 3", "lines 3, 7".
std::string list_of(const std::vector<std::uint64_t>& lines) {
  std::string text = lines.size() == 1 ? "line " : "lines ";
  for (const auto line : lines) {
    if (line != lines.front()) text += ", ";
    text += std::to_string(line);
  }
  return text;
}

/// Shows on standard error how far a submission has come: a bar on a terminal, lines elsewhere.
class ProgressBar {
 public:
  explicit ProgressBar(bool is_quiet)
      : is_terminal_(::isatty(STDERR_FILENO) == 1), is_quiet_(is_quiet) {}

  /// A request begins at the current line of the file. The pause before the request does not count.
  void begin(const LineSource& file) {
    begun_ = steady_clock::now();
    line_before_ = file.line();
    bytes_before_ = file.bytes();
  }

  void show(const LineSource& file) {
    const auto now = steady_clock::now();
    if (is_quiet_ || now < shown_ + (is_terminal_ ? paint_interval : plain_interval)) return;
    shown_ = now;
    const auto elapsed = std::chrono::duration_cast<milliseconds>(now - begun_);
    const auto text = progress_line({.lines = file.line() - 1,
                                     .bytes = file.bytes(),
                                     .bytes_total = file.bytes_total(),
                                     .elapsed = elapsed,
                                     .lines_before = line_before_ - 1,
                                     .bytes_before = bytes_before_},
                                    is_terminal_);
    is_painted_ = is_terminal_;
    std::fprintf(stderr, is_terminal_ ? "\r\033[K%s" : "%s\n", text.c_str());
  }

  void clear() {
    if (std::exchange(is_painted_, false)) std::fputs("\r\033[K", stderr);
  }

 private:
  const bool is_terminal_;
  const bool is_quiet_;
  steady_clock::time_point begun_ = steady_clock::now();
  steady_clock::time_point shown_ = begun_;
  std::uint64_t line_before_ = 1;
  std::uint64_t bytes_before_ = 0;
  bool is_painted_ = false;
};

class BatchSubmission {
 public:
  BatchSubmission(Session& session, const Arguments& arguments)
      : session_(session),
        file_(*arguments.text("--file")),
        bar_(arguments.has("--quiet")),
        is_quiet_(arguments.has("--quiet")),
        sent_{{}, static_cast<std::uint64_t>(arguments.integer("--from-line").value_or(1))},
        retries_(std::clamp<std::int64_t>(arguments.integer("--retries").value_or(retries_default),
                                          0, retries_max)) {}

  ExitCode run() {
    for (;;) {
      const auto report = send();
      if (!report) continue;
      print(*report);
      const auto& stopped = member_at(report->document, {"stopped_at_line"});
      if (!stopped.is_number_integer()) return completed();
      const bool has_progress = stopped.get<std::int64_t>() > 1;
      if (has_progress) failures_ = 0;
      const auto line = sent_.in_file(stopped.get<std::int64_t>());
      sent_ = sent_.after(report->document);
      has_report_ = true;
      if (!wait_to_continue(*report, line)) return ExitCode::refused;
      if (has_progress && !has_rest()) return completed();
    }
  }

 private:
  struct Report {
    json::Value document;
    std::string text;
    std::optional<std::chrono::seconds> retry_after;
  };

  /// Whether there is anything left to send. Waits for it, if the input is a pipe.
  bool has_rest() {
    file_.go_to(sent_.again, sent_.first);
    return file_.has_more();
  }

  /// None: celld has read no line, or the connection broke: the same lines are to be sent again.
  std::optional<Report> send() {
    file_.go_to(sent_.again, sent_.first);
    const Request request{.method = "POST",
                          .path = "/v1/batches",
                          .body = {},
                          .headers = {{"Content-Type", "application/x-ndjson"}},
                          .extra_time = held_back_max};
    bar_.begin(file_);
    bytes_before_ = file_.bytes();
    try {
      const Answer answer = session_.client().upload(request, file_, [this] { bar_.show(file_); });
      bar_.clear();
      if (may_have_been_read(answer)) {
        connection_broke({failure_of(answer).what(), answer.status != 413});
        return std::nullopt;
      }
      if (!answer.succeeded()) {
        wait_to_repeat(answer);
        return std::nullopt;
      }
      check_member(answer, "accepted");
      return Report{document_of(answer), answer.body, answer.retry_after};
    } catch (const NoAnswer& failure) {
      bar_.clear();
      connection_broke(failure);
      return std::nullopt;
    }
  }

  /// Whether a proxy has answered in celld's place, perhaps after it had passed lines on to celld.
  static bool may_have_been_read(const Answer& answer) {
    const bool after_lines = answer.status >= 500 || answer.status == 408 || answer.status == 413;
    return after_lines && !is_problem(answer);
  }

  /// Without idempotency keys, celld cannot recognise lines that it has already accepted.
  void connection_broke(const NoAnswer& failure) {
    if (!file_.has_keys()) {
      throw Failure(
          ExitCode::unavailable,
          std::string{failure.what()} +
              "\n  The lines that celld had accepted by then stay accepted. Not every line has an "
              "`idempotency_key`, so sending them again could repeat jobs.\n  Look at the last "
              "batch (cellctl batch list): it has a job for each accepted line. Find out which "
              "lines these are, and send the others.");
    }
    if (!failure.may_pass() || !file_.has_kept(sent_.lowest()) || failures_ >= retries_) {
      const bool sent_any = file_.bytes() > bytes_before_;
      throw Failure(ExitCode::unavailable,
                    std::string{failure.what()} +
                        (sent_any ? "\n  All lines that were sent have an `idempotency_key`: "
                                    "sending them again repeats no job."
                                  : "\n  No line was sent this time.") +
                        " Still to be sent: " + rest_text() + ".");
    }
    pause(failure.what(), pause_first * (1 << std::min<std::int64_t>(failures_, 6)));
  }

  /// celld has refused the batch without reading it. Throws if it would do so again.
  void wait_to_repeat(const Answer& answer) {
    const Failure failure = failure_of(answer);
    const milliseconds wait = answer.retry_after.value_or(std::chrono::seconds{1});
    const bool passes = (answer.status == 429 || answer.status == 503) && wait <= pause_max;
    if (passes && failures_ < retries_ && file_.has_kept(sent_.lowest())) {
      return pause(failure.what(), wait);
    }
    if (!has_report_) throw Failure(failure);
    throw Failure(failure.code(),
                  std::string{failure.what()} + "\n  Still to be sent: " + rest_text() + ".");
  }

  /// The batch ended at this line. False: cellctl cannot continue by itself, because the reason
  /// will not pass soon, the retries are used up, or the next line is no longer kept.
  bool wait_to_continue(const Report& report, std::uint64_t line) {
    const auto& errors = elements_at(report.document, {"errors"});
    const auto status = errors.empty() ? 0 : integer_at(errors.back(), {"status"});
    milliseconds wait = report.retry_after.value_or(std::chrono::seconds{1});
    if (status == 429) {
      const auto accepted = integer_at(report.document, {"accepted"});
      wait = pace_.next(static_cast<std::uint64_t>(std::max<std::int64_t>(accepted, 0)), wait);
    }
    const bool passes = (status == 408 || status == 429 || status == 503) && wait <= pause_max;
    const bool is_kept = file_.has_kept(sent_.lowest());
    if (passes && failures_ < retries_ && is_kept) {
      pause("celld did not take line " + std::to_string(line) + reason_of(errors.back()), wait);
      return true;
    }
    print_message((is_kept ? ""
                           : "cellctl keeps only the last lines of a pipe, and line " +
                                 std::to_string(sent_.lowest()) + " is no longer among them.\n  ") +
                  "Still to be sent: " + rest_text() + ".");
    return false;
  }

  /// The lines that are left to send, for the user.
  std::string rest_text() const {
    // There may be no such line if others are to be sent again.
    const auto lines = sent_.again.empty() ? "all lines" : list_of(sent_.again) + ", and any lines";
    const auto first = std::to_string(sent_.first);
    return lines + " from line " + first + " on (--from-line " + first + ")";
  }

  void pause(const std::string& reason, milliseconds wait) {
    ++failures_;
    wait = std::min(wait, pause_max);
    print_message(reason + "\n  Continuing with line " + std::to_string(sent_.lowest()) + " in " +
                  duration_text(wait) + " (" + std::to_string(failures_) + " of " +
                  std::to_string(retries_) + ").");
    cli::rest(wait);
  }

  void print(const Report& report) {
    // Refused lines are sent again.
    const auto refused = elements_at(report.document, {"refused_lines"}).size();
    rejected_ += integer_at(report.document, {"rejected"}) - static_cast<std::int64_t>(refused);
    accepted_ += integer_at(report.document, {"accepted"});
    replayed_ += integer_at(report.document, {"replayed"});
    ++batches_;
    if (session_.json()) {
      session_.out().print_json(report.text);
    } else if (is_quiet_) {
      session_.out().print(text_at(report.document, {"id"}) + "\n");
    } else {
      session_.out().print(batch_report(report.document, sent_));
    }
  }

  /// No line is left to send.
  ExitCode completed() {
    if (batches_ > 1 && !session_.json() && !is_quiet_) {
      session_.out().print(std::to_string(batches_) +
                           " batches: " + counts_text(accepted_, replayed_, rejected_) + "\n");
    }
    return rejected_ > 0 ? ExitCode::refused : ExitCode::ok;
  }

  Session& session_;
  LineSource file_;
  ProgressBar bar_;
  BatchPace pace_;
  const bool is_quiet_;
  SentLines sent_;  ///< By the last request, or to be sent by the next.
  const std::int64_t retries_;
  std::uint64_t bytes_before_ = 0;  ///< Of the file, that were given before the last request.
  bool has_report_ = false;         ///< celld has read some lines.
  std::int64_t failures_ = 0;       ///< In a row, without progress.
  std::int64_t batches_ = 0;
  std::int64_t accepted_ = 0;
  std::int64_t replayed_ = 0;
  std::int64_t rejected_ = 0;
};

/// Async-signal-safe.
void on_interruption(int signal) {
  constexpr std::string_view text =
      "\ncellctl: interrupted\n"
      "  The lines that celld has accepted stay accepted: cellctl batch list shows the last batch, "
      "which has a job for each.\n"
      "  If each line has an `idempotency_key`, send the file again: that repeats no job.\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  die_of(signal);
}

}  // namespace

bool is_batch(const Arguments& arguments) {
  const std::string path = arguments.text("--file").value_or("");
  return arguments.has("--batch") || path.ends_with(".ndjson") || path.ends_with(".jsonl");
}

ExitCode submit_batch(Session& session, const Arguments& arguments) {
  if (!arguments.has("--file")) throw usage_failure("--batch needs a --file with one job a line");
  for (const char* flag :
       {"--customer", "--product", "--action", "--entity", "--subtype", "--service", "--parameter",
        "--priority", "--delay", "--at", "--expires", "--timeout", "--max-attempts", "--on-failure",
        "--label", "--key", "--wait"}) {
    if (!arguments.has(flag)) continue;
    const bool waits = std::string_view{flag} == "--wait";
    throw usage_failure(std::string{flag} + " does not apply to a file with one job a line" +
                        (waits ? "; cellctl batch watch waits for the end of a batch" : ""));
  }
  if (arguments.integer("--from-line").value_or(1) < 1)
    throw usage_failure("--from-line: the first line is 1");
  before_death(on_interruption);
  return BatchSubmission(session, arguments).run();
}

}  // namespace celld::cli
