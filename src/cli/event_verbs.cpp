// `cellctl job wait` and `job events`.
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/commands.hpp"
#include "src/cli/follow.hpp"
#include "src/cli/job_view.hpp"
#include "src/cli/members.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

std::string events_path(const std::string& id) {
  return "/v1/jobs/" + url_encoded(id) + "/events";
}

void report_gap(const json::Value& event) {
  print_message(cleaned(text_at(event, {"detail"})));
}

void print_change(Session& session, const std::string& data, const json::Value& job) {
  if (session.json()) {
    session.out().print_json(data);
  } else {
    session.out().print(change_line(job, session.out().look()));
  }
}

/// Prints the events of one job until that job ends, or those of many jobs indefinitely.
ExitCode print_events(Session& session, const std::string& path, bool of_one) {
  follow(session, path, std::nullopt, [&](const Event& event) {
    const auto document = parse_answer(event.data);
    if (!document) return true;
    if (event.name == "gap") report_gap(*document);
    if (event.name != "job.state") return true;
    print_change(session, event.data, *document);
    return !of_one || !has_ended(*document);
  });
  return ExitCode::ok;
}

ExitCode wait_for(Session& session, const std::string& id, const Deadline& deadline) {
  std::string data;
  json::Value job;
  const FollowEnd end = follow(session, events_path(id), deadline, [&](const Event& event) {
    auto document = parse_answer(event.data);
    if (!document || event.name != "job.state") return true;
    data = event.data;
    job = std::move(*document);
    return !has_ended(job);
  });
  if (end == FollowEnd::nothing_more || job.is_null()) {
    const Answer answer = session.ask({.path = "/v1/jobs/" + url_encoded(id)}, "id");
    job = document_of(answer);
    data = answer.body;
  }
  if (session.json()) {
    session.out().print_json(data);
  } else {
    session.out().print(job_sentence(job) + "\n");
  }
  return outcome_of(job);
}

ExitCode job_wait(Session& session, const Arguments& arguments) {
  Deadline deadline;
  if (const auto time = arguments.duration("--timeout"))
    deadline = std::chrono::steady_clock::now() + *time;
  return for_each_word(arguments.words(),
                       [&](const std::string& id) { return wait_for(session, id, deadline); });
}

ExitCode job_events(Session& session, const Arguments& arguments) {
  const auto words = arguments.words();
  if (!words.empty()) {
    if (arguments.has("--customer") || arguments.has("--product"))
      throw usage_failure("--customer and --product cannot be combined with a job ID");
    return print_events(session, events_path(words.front()), true);
  }
  std::vector<std::pair<std::string, std::string>> query;
  if (const auto customer = arguments.text("--customer")) query.emplace_back("customer", *customer);
  if (const auto product = arguments.text("--product")) query.emplace_back("product", *product);
  return print_events(session, "/v1/events" + query_of(query), false);
}

}  // namespace

void add_event_verbs(Commands& commands) {
  CLI::App& wait = commands.add(
      "job", "wait",
      {"wait until jobs end",
       "Exits with 0 if all succeeded, 1 if one failed or was cancelled, 6 after the timeout.",
       "cellctl job wait 06f3k9v2m8qzr --timeout 5m"},
      job_wait);
  add_words(wait, "ID", "the jobs");
  add_value(wait, "--timeout", "DURATION", "stop waiting after this long in total (no limit)");

  CLI::App& events = commands.add(
      "job", "events",
      {"follow the state changes of one job or of all",
       "With an ID, exits when that job has ended. Reconnects when the connection breaks. With\n"
       "--json each line is the job after the change.",
       "cellctl job events --customer acme --json"},
      job_events);
  add_word(events, "ID", "the job");
  add_value(events, "--customer", "NAME", "show only jobs of this customer");
  add_value(events, "--product", "NAME", "show only jobs for this product");
}

}  // namespace celld::cli
