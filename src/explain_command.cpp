#include "src/explain_command.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "cells/model/submission.hpp"
#include "src/http/api/submission.hpp"
#include "src/json/json.hpp"
#include "src/providers/http/explain.hpp"
#include "src/providers/http/kind.hpp"

namespace celld {
namespace {

bool refuse(const std::string& what) {
  std::fprintf(stderr, "celld: %s\n", what.c_str());
  return false;
}

bool refuse_job(const api::Problem& problem) {
  for (const auto& fault : problem.errors) {
    refuse("the job: " + (fault.pointer.empty() ? "(document)" : fault.pointer) + ": " +
           fault.detail);
  }
  return problem.errors.empty() ? refuse("the job: " + problem.detail) : false;
}

api::SubmissionRules rules_of(const config::Config& config) {
  api::SubmissionRules rules{{}, std::make_shared<const cells::Routing>(config.cells)};
  for (const auto& service : config.services) rules.services.insert(service.name);
  rules.can_undo = config::undos_of(config.services);
  return rules;
}

/// Takes the member `properties` out of the document.
std::optional<cells::Properties> take_properties(json::Value& job) {
  cells::Properties properties;
  if (!job.is_object() || !job.contains("properties")) return properties;
  if (!job["properties"].is_object()) return std::nullopt;
  for (const auto& [name, value] : job["properties"].items())
    properties.emplace(name, json::dump(value));
  job.erase("properties");
  return properties;
}

/// The job in its first attempt at the step.
cells::Job at_step(cells::JobSpec spec, std::size_t step, cells::Properties properties) {
  cells::Job job;
  job.step = step;
  job.steps.resize(spec.services.size());
  job.steps[step].attempts = 1;
  job.spec = std::make_shared<const cells::JobSpec>(std::move(spec));
  job.properties = std::move(properties);
  return job;
}

/// Shows the requests that undo the step; empty if the job does not compensate.
std::string explain_undo(const config::Service& service, cells::Job job) {
  if (job.spec->on_failure != cells::OnFailure::compensate) return "";
  job.error = cells::JobError{};
  job.steps[job.step].undo_attempts = 1;
  const auto explained =
      providers::explain(service.name, providers::http_kind().get(*service.settings), job);
  const auto* made = std::get_if<providers::Explanation>(&explained);
  if (made != nullptr) return "\n# To undo the step:\n\n" + made->text;
  return "\n# The step could not be undone with these properties: " +
         std::get<providers::ExplainedRefusal>(explained).text + "\n";
}

bool explain(const config::Service& service, cells::JobSpec spec, cells::Properties properties) {
  const auto step = std::find(spec.services.begin(), spec.services.end(), service.name);
  if (step == spec.services.end())
    return refuse("the job: /services: does not name " + service.name);
  const auto index = static_cast<std::size_t>(step - spec.services.begin());
  const auto job = at_step(std::move(spec), index, std::move(properties));
  const auto explained =
      providers::explain(service.name, providers::http_kind().get(*service.settings), job);
  if (const auto* refusal = std::get_if<providers::ExplainedRefusal>(&explained))
    return refuse("the job would fail with provider_rejected: " + refusal->text);
  std::fputs(std::get<providers::Explanation>(explained).text.c_str(), stdout);
  std::fputs(explain_undo(service, job).c_str(), stdout);
  return std::fflush(stdout) == 0;
}

}  // namespace

bool explain_job(const config::Config& config, const std::string& name, std::string_view text) {
  const auto service = std::find_if(config.services.begin(), config.services.end(),
                                    [&](const auto& each) { return each.name == name; });
  if (service == config.services.end())
    return refuse("--explain: " + name + " is not a configured service");
  if (&service->settings->kind() != &providers::http_kind())
    return refuse("--explain: " + name + " is not a service of type http");
  auto parsed = json::parse(text);
  if (const auto* error = std::get_if<json::SyntaxError>(&parsed))
    return refuse("the job: " + error->detail);
  auto& document = std::get<json::Document>(parsed);
  for (const auto& fault : document.number_faults)
    return refuse("the job: " + fault.pointer + ": " + fault.detail);
  auto properties = take_properties(document.value);
  if (!properties) return refuse("the job: /properties: must be an object");
  const auto rules = rules_of(config);
  auto submission = api::parse_submission(json::dump(document.value), rules);
  if (const auto* problem = std::get_if<api::Problem>(&submission)) return refuse_job(*problem);
  auto& accepted = std::get<api::Submission>(submission);
  if (accepted.refusal_if_new) return refuse_job(*accepted.refusal_if_new);
  const auto& spec = accepted.request.spec;
  if (!rules.routing->find(spec.customer, spec.product)) {
    return refuse_job(api::problem_of(cells::Refusal{}));
  }
  return explain(*service, std::move(accepted.request.spec), std::move(*properties));
}

}  // namespace celld
