#include "src/http/api/schedule_json.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/config/checks.hpp"
#include "src/config/schedule_document.hpp"
#include "src/http/api/bodies.hpp"
#include "src/http/api/query.hpp"
#include "src/http/api/request_headers.hpp"
#include "src/json/time_text.hpp"

namespace celld::api {
namespace {

json::Value shown(const cells::Schedule& schedule) {
  const auto& progress = schedule.progress;
  json::Value value = config::show(schedule.spec);
  value["name"] = schedule.name;
  value["configured"] = schedule.configured;
  value["next_run_at"] =
      progress.next ? json::Value(json::format_time(*progress.next)) : json::Value();
  value["last_job"] =
      progress.last_job == 0 ? json::Value() : json::Value(cells::format_job_id(progress.last_job));
  value["fired"] = progress.fired;
  value["skipped"] = progress.skipped;
  value["missed"] = progress.missed;
  return value;
}

}  // namespace

std::string schedule_json(const cells::Schedule& schedule) {
  return json::dump(shown(schedule));
}

std::string schedule_list_json(const cells::SchedulesListed& page) {
  std::string out = "{\"items\":[";
  for (const auto& schedule : page.schedules) {
    if (out.back() == '}') out += ',';
    out += schedule_json(schedule);
  }
  out += "],\"next_cursor\":";
  out += page.more ? json::quote(name_cursor(page.schedules.back().name)) : "null";
  return out += '}';
}

std::variant<cells::ScheduleSpec, Problem> parse_schedule(const http::Request& request,
                                                          const SubmissionRules& rules,
                                                          const config::TimeZoneFault& zone_fault,
                                                          const BoundCustomer& only_customer) {
  if (!is_json(request)) return not_json();
  auto parsed = json::parse(request.body);
  if (auto* error = std::get_if<json::SyntaxError>(&parsed))
    return unreadable_body(std::move(*error));
  auto& document = std::get<json::Document>(parsed);
  Faults faults = refuse_query(request.query);
  if (!config::is_name(request.captures[0]))
    faults.push_back({"", "the name in the path must match [A-Za-z0-9][A-Za-z0-9._-]{0,62}"});
  std::move(document.number_faults.begin(), document.number_faults.end(),
            std::back_inserter(faults));
  auto spec = config::read_schedule(document.value, "",
                                    {rules.services, *rules.routing, rules.can_undo}, faults);
  // Checked before anything that would reveal which cells another customer has.
  if (config::is_name(spec.job.customer) && !may_see(only_customer, spec.job.customer))
    return not_found("There is no such customer.");
  const bool is_faulty = std::any_of(faults.begin(), faults.end(), [](const json::Fault& fault) {
    return fault.pointer == "/time_zone";
  });
  if (!spec.timing.cron.empty() && !is_faulty) {
    auto detail = zone_fault(spec.timing.time_zone);
    if (!detail.empty()) faults.push_back({"/time_zone", std::move(detail)});
  }
  if (!faults.empty()) return invalid_request(std::move(faults));
  return spec;
}

}  // namespace celld::api
