// `cellctl job get`, `list`, `cancel` and `retry`.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/commands.hpp"
#include "src/cli/job_view.hpp"
#include "src/cli/members.hpp"
#include "src/cli/pages.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

std::string job_path(const std::string& id) {
  return "/v1/jobs/" + url_encoded(id);
}

/// The query parameters that the flags stand for.
PageQuery job_query(const Arguments& arguments) {
  constexpr std::array names = {
      std::pair{"--customer", "customer"}, std::pair{"--product", "product"},
      std::pair{"--state", "state"},       std::pair{"--service", "service"},
      std::pair{"--batch", "batch"},       std::pair{"--limit", "limit"},
      std::pair{"--cursor", "cursor"}};
  PageQuery query;
  for (const auto& [flag, name] : names)
    if (auto text = arguments.text(flag)) query.emplace_back(name, std::move(*text));
  if (const auto entity = arguments.text("--entity")) {
    const std::size_t slash = std::min(entity->find('/'), entity->size());
    query.emplace_back("entity_type", entity->substr(0, slash));
    if (slash < entity->size()) query.emplace_back("entity_id", entity->substr(slash + 1));
  }
  for (const std::string& text : arguments.texts("--label")) {
    auto [name, value] = name_and_value(text);
    query.emplace_back("label." + name, std::move(value));
  }
  if (auto since = arguments.moment("--since", -1)) query.emplace_back("created_after", *since);
  if (auto until = arguments.moment("--until", -1)) query.emplace_back("created_before", *until);
  return query;
}

ExitCode job_get(Session& session, const Arguments& arguments) {
  return show(session, arguments, [&] {
    View view{.final = true};
    view.code = for_each_word(arguments.words(), [&](const std::string& id) {
      const Answer answer = session.ask({.path = job_path(id)}, "id");
      const json::Value job = document_of(answer);
      if (session.json()) {
        view.text += json_line(session, answer.body);
      } else {
        if (!view.text.empty()) view.text += "\n";
        view.text += job_details(job, wall_now(), session.out().look());
      }
      view.final = view.final && has_ended(job);
      return ExitCode::ok;
    });
    return view;
  });
}

ExitCode job_list(Session& session, const Arguments& arguments) {
  const Listing listing{.path = "/v1/jobs", .query = job_query(arguments), .what = "jobs"};
  return show_listing<JobTable>(session, arguments, listing, [] { return JobTable(wall_now()); });
}

void add_job_get(Commands& commands) {
  CLI::App& verb = commands.add("job", "get",
                                {"show jobs", "With --watch, exits when all jobs have ended.",
                                 "cellctl job get 06f3k9v2m8qzr --watch"},
                                job_get);
  add_words(verb, "ID", "the jobs");
  add_watch(verb);
}

void add_job_list(Commands& commands) {
  CLI::App& verb =
      commands.add("job", "list",
                   {"list jobs, newest first",
                    "TIME is 2026-11-20T22:42:56Z, 2026-11-20, or a duration before now.",
                    "cellctl job list --customer acme --state failed --since 2h"},
                   job_list);
  add_value(verb, "--customer", "NAME", "show only jobs of this customer");
  add_value(verb, "--product", "NAME", "show only jobs for this product");
  add_value(verb, "--state", "STATE", "show only jobs in this state");
  add_value(verb, "--service", "NAME", "show only jobs that use this service");
  add_value(verb, "--entity", "TYPE/ID",
            "show only jobs for this entity; TYPE alone matches every ID");
  add_value(verb, "--label", "KEY=VALUE", "show only jobs with this label; repeatable");
  add_value(verb, "--batch", "ID", "show only jobs of this batch");
  add_value(verb, "--since", "TIME", "show only jobs created after this time");
  add_value(verb, "--until", "TIME", "show only jobs created before this time");
  add_page_flags(verb);
}

/// `name` is also the last segment of the path.
void add_job_action(Commands& commands, const std::string& name, const std::string& summary,
                    const std::string& details) {
  const auto post = [name](Session& session, const Arguments& arguments) {
    return for_each_word(arguments.words(), [&](const std::string& id) {
      const Answer answer =
          session.ask({.method = "POST", .path = job_path(id) + "/" + name}, "id");
      if (session.json()) {
        session.out().print_json(answer.body);
      } else {
        session.out().print(job_sentence(document_of(answer)) + "\n");
      }
      return ExitCode::ok;
    });
  };
  CLI::App& verb =
      commands.add("job", name, {summary, details, "cellctl job " + name + " 06f3k9v2m8qzr"}, post);
  add_words(verb, "ID", "the jobs");
}

}  // namespace

void add_job_verbs(Commands& commands) {
  add_job_get(commands);
  add_job_list(commands);
  add_job_action(commands, "cancel", "cancel jobs", "A running job ends a moment later.");
  add_job_action(
      commands, "retry", "run failed or cancelled jobs again",
      "Each job resumes at its first unfinished service, with a fresh count of attempts.");
}

}  // namespace celld::cli
