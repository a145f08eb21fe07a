// `cellctl submit`: submits one job exactly once, however often the request is sent.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/batch_submit.hpp"
#include "src/cli/commands.hpp"
#include "src/cli/job_document.hpp"
#include "src/cli/job_view.hpp"
#include "src/cli/members.hpp"
#include "src/cli/problem.hpp"
#include "src/cli/session.hpp"

namespace celld::cli {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int retries_default = 3;
constexpr std::int64_t retries_max = 100;
constexpr milliseconds pause_first{500};
constexpr milliseconds pause_max{30'000};  // cellctl gives up when celld asks for more.
constexpr seconds hold_max{60};            // The longest that celld holds a response.

std::string random_key() {
  std::random_device random;
  std::array<char, 9> word{};
  std::string key = "cellctl-";
  for (int i = 0; i < 4; ++i) {
    std::snprintf(word.data(), word.size(), "%08x", random() & 0xFFFFFFFFU);
    key += word.data();
  }
  return key;
}

/// One submission with an idempotency key, so that sending it again is safe.
class Submission {
 public:
  Submission(Session& session, const Arguments& arguments)
      : session_(session),
        document_(job_document(arguments)),
        retries_(std::clamp<std::int64_t>(arguments.integer("--retries").value_or(retries_default),
                                          0, retries_max)) {
    if (document_.idempotency_key.empty()) document_.idempotency_key = random_key();
  }

  /// Asks celld to hold the response until the job ends, for at most `hold`.
  Answer send(seconds hold) {
    const Request request{.method = "POST",
                          .path = "/v1/jobs",
                          .body = document_.body,
                          .headers = headers(hold),
                          .extra_time = hold};
    for (std::int64_t failures = 0;; ++failures) {
      milliseconds pause =
          std::min(pause_first * (1 << std::min<std::int64_t>(failures, 6)), pause_max);
      std::string reason;
      try {
        Answer answer = session_.client().send(request);
        if (answer.succeeded()) {
          check_member(answer, "id");
          return answer;
        }
        const Failure failure = failure_of(answer);
        const bool temporary = answer.status == 503 || answer.status == 429;
        if (const auto asked = answer.retry_after)
          pause = std::max<milliseconds>(*asked, pause_first);
        if (temporary && failures < retries_ && pause > pause_max) {
          print_message("celld asks for a pause of " + duration_text(pause) +
                        "; cellctl pauses for at most " + duration_text(pause_max) + ".");
          throw Failure(failure);
        }
        if (!temporary || failures >= retries_) throw Failure(failure);
        reason = failure.what();
      } catch (const NoAnswer& failure) {
        if (!failure.may_pass() || failures >= retries_) throw;
        reason = failure.what();
      }
      print_message(reason + "\n  Sending the same job again in " + duration_text(pause) + " (" +
                    std::to_string(failures + 1) + " of " + std::to_string(retries_) + ").");
      rest(pause);
    }
  }

 private:
  std::vector<std::pair<std::string, std::string>> headers(seconds hold) const {
    std::vector<std::pair<std::string, std::string>> fields = {
        {"Idempotency-Key", document_.idempotency_key}};
    if (hold.count() > 0) fields.emplace_back("Prefer", "wait=" + std::to_string(hold.count()));
    return fields;
  }

  Session& session_;
  JobDocument document_;
  const std::int64_t retries_;
};

/// Repeats the submission, and lets celld hold each response, until the job ends or `time` is over.
/// Unlike reading the job, this needs no scope beyond `submit`.
Answer wait_for_end(Submission& submission, Answer answer, std::optional<milliseconds> time) {
  const auto begin = steady_clock::now();
  while (!has_ended(document_of(answer))) {
    seconds hold = hold_max;
    if (time) {
      const auto left = *time - (steady_clock::now() - begin);
      if (left <= left.zero()) break;
      hold = std::min(hold, std::chrono::ceil<seconds>(left));
    }
    const auto asked_at = steady_clock::now();
    answer = submission.send(hold);
    // A celld that is shutting down does not hold responses.
    const bool early = steady_clock::now() - asked_at < milliseconds(hold) / 2;
    if (early && !has_ended(document_of(answer))) rest(pause_first);
  }
  return answer;
}

void print(Session& session, const Arguments& arguments, const Answer& answer) {
  const json::Value job = document_of(answer);
  if (session.json()) {
    session.out().print_json(answer.body);
  } else if (arguments.has("--quiet")) {
    session.out().print(text_at(job, {"id"}) + "\n");
  } else if (arguments.has("--wait") && has_ended(job)) {
    session.out().print(job_details(job, wall_now(), session.out().look()));
  } else {
    const std::string note =
        answer.replayed && !arguments.has("--wait") ? " (submitted before)" : "";
    session.out().print(job_sentence(job) + note + "\n");
  }
}

ExitCode submit(Session& session, const Arguments& arguments) {
  if (is_batch(arguments)) return submit_batch(session, arguments);
  if (arguments.has("--from-line")) {
    throw usage_failure("--from-line applies only to a file with one job a line; see --batch");
  }
  Submission submission(session, arguments);
  Answer answer = submission.send(seconds(0));
  if (!arguments.has("--wait")) {
    print(session, arguments, answer);
    return ExitCode::ok;
  }
  const std::string id = text_at(document_of(answer), {"id"});
  try {
    answer = wait_for_end(submission, std::move(answer), arguments.duration("--wait"));
  } catch (const Failure&) {
    print_message("job " + id + " was accepted, but its outcome is unknown");
    throw;
  }
  print(session, arguments, answer);
  return outcome_of(document_of(answer));
}

}  // namespace

void add_submit(Commands& commands) {
  CLI::App& verb = commands.add(
      "", "submit",
      {"submit a job",
       "Sends the job again under the same idempotency key if celld does not answer or is busy.",
       "cellctl submit --customer acme --product dns --action create \\\n"
       "      --entity zone/example.com --service dns,billing --parameter ttl=300 --wait"},
      submit);
  add_job_flags(verb);
  add_time_flags(verb);
  add_value(verb, "--key", "KEY", "use this idempotency key (random)")->check(empty_fault);
  add_value(verb, "--retries", "N", "send the job again at most N times (3)")->check(integer_fault);
  add_optional_duration(verb, "--wait",
                        "wait until the job ends, or for this long; exit code is the outcome");
  add_switch(verb, "--batch",
             "read FILE as a batch, one job a line (implied by *.ndjson, *.jsonl)");
  add_value(verb, "--from-line", "N", "begin a batch at this line of the file (1)")
      ->check(integer_fault);
  add_switch(verb, "-q,--quiet", "print only the id");
}

}  // namespace celld::cli
