// `cellctl job get`, `list`, `cancel` and `retry`.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/job_view.hpp"
#include "src/cli/members.hpp"
#include "src/cli/pages.hpp"
#include "src/cli/text.hpp"
#include "src/cli/verbs_run.hpp"

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
      std::pair{"--limit", "limit"},       std::pair{"--cursor", "cursor"}};
  PageQuery query;
  for (const auto& [flag, name] : names)
    if (auto text = arguments.text(flag)) query.emplace_back(name, std::move(*text));
  if (const auto entity = arguments.text("--entity")) {
    const std::size_t slash = std::min(entity->find('/'), entity->size());
    query.emplace_back("entity_type", entity->substr(0, slash));
    if (slash < entity->size()) query.emplace_back("entity_id", entity->substr(slash + 1));
  }
  for (const std::string& text : arguments.texts("--label")) {
    auto [name, value] = name_and_value("--label", text);
    query.emplace_back("label." + name, std::move(value));
  }
  if (auto since = arguments.moment("--since", -1)) query.emplace_back("created_after", *since);
  if (auto until = arguments.moment("--until", -1)) query.emplace_back("created_before", *until);
  return query;
}

/// Posts an action, such as "cancel", to each job and prints the job's new state.
ExitCode post_to_each(Session& session, const Arguments& arguments, const std::string& action) {
  return for_each_word(arguments.words(), [&](const std::string& id) {
    const Answer answer = session.ask({.method = "POST", .path = job_path(id) + "/" + action});
    if (session.json()) {
      session.out().print_json(answer.body);
    } else {
      session.out().print(job_sentence(document_of(answer)) + "\n");
    }
    return ExitCode::ok;
  });
}

}  // namespace

ExitCode job_get(Session& session, const Arguments& arguments) {
  return show(session, arguments, [&] {
    View view{.final = true};
    view.code = for_each_word(arguments.words(), [&](const std::string& id) {
      const Answer answer = session.ask({.path = job_path(id)});
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

ExitCode job_cancel(Session& session, const Arguments& arguments) {
  return post_to_each(session, arguments, "cancel");
}

ExitCode job_retry(Session& session, const Arguments& arguments) {
  return post_to_each(session, arguments, "retry");
}

}  // namespace celld::cli
