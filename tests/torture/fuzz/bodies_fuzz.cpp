// The small bodies of requests: the size of a pool, the limits of a cell, a schedule, and none. All
// are compared with what nlohmann's own parser reads.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cells/model/cell_settings.hpp"
#include "cells/model/cron.hpp"
#include "src/config/cell_setting.hpp"
#include "src/config/schedule_document.hpp"
#include "src/http/api/bodies.hpp"
#include "src/http/api/schedule_json.hpp"
#include "src/json/json.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using api::ProblemKind;
using fuzz::must;
using json::Value;

namespace {

http::Request request_of(std::string_view body) {
  http::Request request;
  request.headers.emplace_back("content-type", "application/json");
  request.body = body;
  return request;
}

void check_refused(const api::Problem& problem) {
  must(problem.kind == ProblemKind::malformed_json || problem.kind == ProblemKind::invalid_request,
       "a body is refused because of its content");
  must(!problem.detail.empty() && fuzz::is_clean_text(problem.detail), "a problem has a detail");
  must(problem.errors.empty() == (problem.kind == ProblemKind::malformed_json),
       "an invalid request has faults");
  for (const json::Fault& fault : problem.errors) {
    must(!fault.detail.empty() && fuzz::is_clean_text(fault.detail), "a fault has a detail");
    must(fuzz::is_clean_text(fault.pointer) &&
             (fault.pointer.empty() || fault.pointer.front() == '/'),
         "a fault has a pointer");
  }
}

// --- Pools ---------------------------------------------------------------------------------------

/// Whether the member is absent, or within its bounds.
bool is_good(const Value& value, const char* member, std::uint32_t max) {
  return !value.contains(member) ||
         (value[member].is_number_integer() && value[member] >= 1 && value[member] <= max);
}

bool is_pool_change(const Value& value) {
  if (!value.is_object() || value.empty()) return false;
  const auto known = value.count("size") + value.count("burst") + value.count("weight");
  return known == value.size() && is_good(value, "size", cells::pool_size_max) &&
         is_good(value, "burst", cells::pool_size_max) &&
         is_good(value, "weight", cells::pool_weight_max) &&
         !(value.contains("size") && value.contains("burst") && value["burst"] < value["size"]);
}

void check_pool_change(std::string_view body, const Value& value) {
  const auto parsed = api::parse_pool_change(request_of(body));
  const bool is_change = is_pool_change(value);
  if (const auto* change = std::get_if<api::PoolChange>(&parsed)) {
    must(is_change, "a change that is taken is within its bounds");
    const auto is_member = [&](const char* member, std::optional<std::uint32_t> number) {
      return value.contains(member) == number.has_value() && (!number || value[member] == *number);
    };
    must(is_member("size", change->size) && is_member("burst", change->burst) &&
             is_member("weight", change->weight),
         "a change is what the body says");
  } else {
    const auto& problem = std::get<api::Problem>(parsed);
    check_refused(problem);
    // A number that is not an integer, a repeated key: nlohmann is less strict.
    must(!is_change || problem.kind == ProblemKind::malformed_json,
         "a change within its bounds is taken");
  }
}

// --- Quotas --------------------------------------------------------------------------------------

/// A limit as the documentation has it.
struct Limit {
  cells::QuotaLimit limit;
  std::string pointer;
  double min;
  double max;
  bool is_rate = false;
  bool may_be_none = true;
};

const std::vector<Limit>& limits() {
  using enum cells::QuotaLimit;
  static constexpr double bytes_max = 1'099'511'627'776;
  static const std::vector<Limit> all = {
      {queue_jobs, "/queue/max_jobs", 1, 1e8, false, false},
      {queue_bytes, "/queue/max_bytes", 65'536, bytes_max},
      {queue_rate, "/queue/submissions_per_s", 0.001, 1e6, true},
      {queue_burst, "/queue/submissions_burst", 1, 1e6},
      {customer_jobs, "/customers/quota/max_jobs", 1, 1e8},
      {customer_bytes, "/customers/quota/max_bytes", 65'536, bytes_max},
      {customer_running, "/customers/quota/max_running", 1, cells::pool_size_max},
      {customer_rate, "/customers/quota/submissions_per_s", 0.001, 1e6, true},
      {customer_burst, "/customers/quota/submissions_burst", 1, 1e6},
  };
  return all;
}

bool is_within(const Value& value, const Limit& limit) {
  if (value.is_null()) return limit.may_be_none;
  return (limit.is_rate ? value.is_number() : value.is_number_integer()) && value >= limit.min &&
         value <= limit.max;
}

/// Whether the object at `pointer` has nothing but limits within their bounds. Counts them.
bool has_limits(const Value& object, const std::string& pointer, std::size_t& count) {
  if (!object.is_object()) return false;
  for (const auto& [name, member] : object.items()) {
    const std::string at = pointer + "/" + name;
    const auto limit = std::find_if(limits().begin(), limits().end(),
                                    [&](const Limit& each) { return each.pointer == at; });
    if (name.find('/') != std::string::npos) return false;
    if (limit != limits().end()) {
      if (!is_within(member, *limit)) return false;
      ++count;
    } else if (at == "/queue" || at == "/customers" || at == "/customers/quota") {
      if (!has_limits(member, at, count)) return false;
    } else {
      return false;
    }
  }
  return true;
}

/// The body that sets these limits.
std::string shown(const cells::QuotaOverride& quota) {
  Value body;
  for (const Limit& limit : limits()) {
    const auto found = quota.find(limit.limit);
    if (found == quota.end()) continue;
    body[Value::json_pointer(limit.pointer)] = config::show_quota(limit.limit, found->second);
  }
  return json::dump(body);
}

void check_quota(std::string_view body, const Value& value) {
  const auto parsed = api::parse_quota(request_of(body));
  std::size_t count = 0;
  const bool is_quota = has_limits(value, "", count) && count > 0;
  if (const auto* quota = std::get_if<cells::QuotaOverride>(&parsed)) {
    must(is_quota, "a quota that is taken is within its bounds");
    must(quota->size() == count, "each limit of a quota is kept");
    for (const Limit& limit : limits()) {
      const auto found = quota->find(limit.limit);
      if (found == quota->end()) continue;
      const Value& said = value.at(Value::json_pointer(limit.pointer));
      must(said.is_null() ? found->second == 0 : said == found->second,
           "a limit is what the body says");
    }
    const auto again = api::parse_quota(request_of(shown(*quota)));
    must(std::get<cells::QuotaOverride>(again) == *quota, "a quota is read as it is shown");
  } else {
    const auto& problem = std::get<api::Problem>(parsed);
    check_refused(problem);
    must(!is_quota || problem.kind == ProblemKind::malformed_json,
         "a quota within its bounds is taken");
  }
}

// --- Schedules -----------------------------------------------------------------------------------

constexpr cells::milliseconds timeout_max{5000};
constexpr cells::milliseconds ten_years{315'360'000'000};

const api::SubmissionRules& rules() {
  static const api::SubmissionRules rules = [] {
    cells::CellRule rule;
    rule.customer = "acme";
    rule.settings.timeout_max = timeout_max;
    return api::SubmissionRules{
        {"dns", "mail"},
        std::make_shared<cells::Routing>(std::vector<cells::CellRule>{rule}),
        [](const std::string& service, const std::string&) { return service == "dns"; }};
  }();
  return rules;
}

std::string zone_fault(const std::string& zone) {
  return zone == "UTC" || zone == "Europe/Berlin" ? "" : "is not known on this machine";
}

std::variant<cells::ScheduleSpec, api::Problem> schedule_of(std::string_view body,
                                                            const api::BoundCustomer& bound = {},
                                                            const std::string& name = "nightly") {
  http::Request request = request_of(body);
  request.captures = {name};
  return api::parse_schedule(request, rules(), zone_fault, bound);
}

void check_timing(const cells::ScheduleTiming& timing, const Value& value) {
  must(value.contains("cron") != value.contains("every_ms"), "a schedule has one rule");
  if (value.contains("cron")) {
    must(timing.every.count() == 0 && timing.cron == value["cron"], "a cron expression is kept");
    must(std::holds_alternative<cells::CronRule>(cells::CronRule::parse(timing.cron)),
         "a cron expression is valid");
    must(timing.time_zone == value.value("time_zone", "UTC") && zone_fault(timing.time_zone) == "",
         "a time zone is known");
  } else {
    must(timing.cron.empty() && timing.time_zone.empty(), "a time zone belongs to a cron rule");
    must(timing.every.count() == value["every_ms"] && timing.every.count() >= 1000 &&
             timing.every <= ten_years,
         "a schedule is due once a second at most");
  }
}

void check_spec(const cells::ScheduleSpec& spec, const Value& value) {
  check_timing(spec.timing, value);
  must(to_string(spec.overlap) == value.value("overlap", "skip"), "an overlap is kept");
  must(to_string(spec.catch_up) == value.value("catch_up", "one"), "a catch-up is kept");
  must(spec.paused == value.value("paused", false), "a pause is kept");
  const Value& job = value["job"];
  must(spec.job.customer == "acme" && job["customer"] == "acme", "a cell serves the job");
  must(spec.job.timeout.count() == job.value("timeout_ms", 0) && spec.job.timeout <= timeout_max,
       "a timeout is at most the cell's maximum");
  must(spec.job.parameters.size() <= 65536, "the parameters have at most 64 KiB");
  for (const char* once : {"run_at", "delay_ms", "idempotency_key"})
    must(!job.contains(once), "a job of a schedule has no time or key of its own");
}

void check_schedule(std::string_view body, const Value& value) {
  const auto parsed = schedule_of(body);
  const auto* spec = std::get_if<cells::ScheduleSpec>(&parsed);
  if (spec == nullptr) return check_refused(std::get<api::Problem>(parsed));
  check_spec(*spec, value);
  const auto again = schedule_of(json::dump(config::show(*spec)));
  must(std::get<cells::ScheduleSpec>(again) == *spec, "a schedule is read as it is shown");
  const auto own = schedule_of(body, "acme");
  must(std::get<cells::ScheduleSpec>(own) == *spec, "a customer has schedules");
  const auto others = schedule_of(body, "globex");
  const auto* hidden = std::get_if<api::Problem>(&others);
  must(hidden != nullptr && hidden->kind == ProblemKind::not_found,
       "a schedule for another customer is not found");
  const auto nameless = schedule_of(body, {}, "a b");
  const auto* refused = std::get_if<api::Problem>(&nameless);
  must(refused != nullptr, "a schedule has a name");
  check_refused(*refused);
}

// --- None, and its type --------------------------------------------------------------------------

void check_no_content(std::string_view body, const Value& value) {
  const auto problem = api::refuse_content(request_of(body));
  must(!problem || !body.empty(), "no body is no content");
  if (problem) check_refused(*problem);
  if (!problem) must(body.empty() || (value.is_object() && value.empty()), "content is refused");
  if (problem && problem->kind == ProblemKind::invalid_request)
    must(!value.is_object() || !value.empty(), "an empty object is no content");
}

void check_media_type(std::string_view body) {
  http::Request request;
  request.body = body;
  const auto problem = api::refuse_content(request);
  must(problem.has_value() == !body.empty(), "a body of an unknown type is refused");
  must(!problem || problem->kind == ProblemKind::unsupported_media_type, "its type is the problem");
  for (const auto& kind : {std::get<api::Problem>(api::parse_quota(request)).kind,
                           std::get<api::Problem>(api::parse_pool_change(request)).kind})
    must(kind == ProblemKind::unsupported_media_type, "a body has a type");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body = fuzz::text_of(data, size);
  const Value value = Value::parse(body, nullptr, false);
  check_pool_change(body, value);
  check_quota(body, value);
  check_schedule(body, value);
  check_no_content(body, value);
  check_media_type(body);
  return 0;
}
