// `cellctl schedule …`
#include <string>
#include <utility>

#include "src/cli/commands.hpp"
#include "src/cli/job_document.hpp"
#include "src/cli/members.hpp"
#include "src/cli/pages.hpp"
#include "src/cli/schedule_view.hpp"
#include "src/cli/session.hpp"

namespace celld::cli {
namespace {

std::string path_of(const std::string& name) {
  return "/v1/schedules/" + url_encoded(name);
}

/// "schedule nightly: next run at 2026-11-25T02:00:00.000Z"
std::string sentence(const json::Value& schedule) {
  const std::string at = text_at(schedule, {"next_run_at"});
  const bool paused = truth_at(schedule, {"paused"});
  return "schedule " + text_at(schedule, {"name"}) + ": " +
         (paused ? "paused" : "next run at " + at);
}

void report(Session& session, const Answer& answer) {
  if (session.json()) {
    session.out().print_json(answer.body);
  } else {
    session.out().print(sentence(document_of(answer)) + "\n");
  }
}

Answer put(Session& session, const std::string& name, const json::Value& schedule) {
  return session.ask({.method = "PUT", .path = path_of(name), .body = json::dump(schedule)},
                     "name");
}

ExitCode schedule_list(Session& session, const Arguments& arguments) {
  return show_unfiltered<ScheduleTable>(session, arguments, "schedules");
}

ExitCode schedule_get(Session& session, const Arguments& arguments) {
  return show(session, arguments, [&] {
    View view;
    view.code = for_each_word(arguments.words(), [&](const std::string& name) {
      const Answer answer = session.ask({.path = path_of(name)}, "name");
      if (session.json()) {
        view.text += json_line(session, answer.body);
      } else {
        if (!view.text.empty()) view.text += "\n";
        view.text += schedule_details(document_of(answer), session.out().look());
      }
      return ExitCode::ok;
    });
    return view;
  });
}

ExitCode schedule_set(Session& session, const Arguments& arguments) {
  json::Value schedule = json::Value::object();
  const auto job = parse_answer(schedule_job(arguments));
  schedule["job"] = job.value_or(json::Value());
  if (const auto every = arguments.duration("--every")) schedule["every_ms"] = every->count();
  for (const auto& [flag, member] :
       {std::pair{"--cron", "cron"}, std::pair{"--time-zone", "time_zone"},
        std::pair{"--overlap", "overlap"}, std::pair{"--catch-up", "catch_up"}})
    if (auto text = arguments.text(flag)) schedule[member] = std::move(*text);
  if (arguments.has("--paused")) schedule["paused"] = true;
  report(session, put(session, arguments.words().front(), schedule));
  return ExitCode::ok;
}

/// Reads the schedule and writes it back.
ExitCode change_paused(Session& session, const Arguments& arguments, bool paused) {
  return for_each_word(arguments.words(), [&](const std::string& name) {
    json::Value schedule = document_of(session.ask({.path = path_of(name)}, "name"));
    for (const char* member :
         {"name", "configured", "next_run_at", "last_job", "fired", "skipped", "missed"})
      schedule.erase(member);
    schedule["paused"] = paused;
    report(session, put(session, name, schedule));
    return ExitCode::ok;
  });
}

ExitCode schedule_pause(Session& session, const Arguments& arguments) {
  return change_paused(session, arguments, true);
}

ExitCode schedule_resume(Session& session, const Arguments& arguments) {
  return change_paused(session, arguments, false);
}

ExitCode schedule_delete(Session& session, const Arguments& arguments) {
  return for_each_word(arguments.words(), [&](const std::string& name) {
    const Answer answer = session.ask({.method = "DELETE", .path = path_of(name)}, "name");
    if (session.json()) {
      session.out().print_json(answer.body);
    } else {
      session.out().print("schedule " + text_at(document_of(answer), {"name"}) + ": deleted\n");
    }
    return ExitCode::ok;
  });
}

void add_list_and_get(Commands& commands) {
  CLI::App& list = commands.add(
      "schedule", "list", {"list schedules", "", "cellctl schedule list --watch"}, schedule_list);
  add_page_flags(list);
  CLI::App& get = commands.add(
      "schedule", "get",
      {"show schedules", "Shows when each is due next, and what became of its due times.",
       "cellctl schedule get nightly"},
      schedule_get);
  add_words(get, "NAME", "the schedules");
  add_watch(get);
}

void add_set(Commands& commands) {
  CLI::App& set = commands.add(
      "schedule", "set",
      {"add a schedule, or replace it",
       "Submits the job that the flags describe at every due time. Needs --every or --cron.",
       "cellctl schedule set nightly --cron '0 3 * * *' --time-zone Europe/Berlin -f job.json"},
      schedule_set);
  add_word(set, "NAME", "the schedule")->required();
  add_value(set, "--every", "DURATION", "submit the job at this interval");
  add_value(set, "--cron", "TEXT", "submit the job at the times of this cron expression");
  add_value(set, "--time-zone", "NAME", "interpret the cron expression in this zone (UTC)");
  add_value(set, "--overlap", "WHAT",
            "skip or allow firings while the last job has not ended (skip)");
  add_value(set, "--catch-up", "WHAT",
            "choose which overdue times still fire: none, one, all (one)");
  add_switch(set, "--paused", "submit nothing until the schedule is resumed");
  add_job_flags(set);
}

void add_pause_resume_and_delete(Commands& commands) {
  CLI::App& pause =
      commands.add("schedule", "pause",
                   {"stop schedules from submitting jobs", "", "cellctl schedule pause nightly"},
                   schedule_pause);
  add_words(pause, "NAME", "the schedules");
  CLI::App& resume = commands.add(
      "schedule", "resume",
      {"let schedules submit jobs again", "Due times that passed during the pause submit no job.",
       "cellctl schedule resume nightly"},
      schedule_resume);
  add_words(resume, "NAME", "the schedules");
  CLI::App& remove = commands.add(
      "schedule", "delete",
      {"delete schedules", "Their jobs stay.", "cellctl schedule delete nightly"}, schedule_delete);
  add_words(remove, "NAME", "the schedules");
}

}  // namespace

void add_schedule_verbs(Commands& commands) {
  add_list_and_get(commands);
  add_set(commands);
  add_pause_resume_and_delete(commands);
}

}  // namespace celld::cli
