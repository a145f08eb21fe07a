#include "src/config/schedule_document.hpp"

#include <algorithm>
#include <utility>

#include "src/config/checks.hpp"

namespace celld::config {
namespace {

using Faults = std::vector<json::Fault>;

constexpr std::int64_t every_ms_min = 1000;
constexpr std::int64_t every_ms_max = 315'360'000'000;  // Ten years.
constexpr std::size_t time_zone_bytes_max = 64;
/// Schedules are kept in memory.
constexpr std::size_t parameters_bytes_max = 64 << 10;

bool is_time_zone_name(std::string_view text) {
  return !text.empty() && text.front() != '/' && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("_+-/").find(c) != std::string_view::npos;
  });
}

std::string read_cron(json::ObjectReader& reader) {
  auto text = reader.string("cron");
  if (!text) return "";
  const auto parsed = cells::CronRule::parse(*text);
  if (const auto* wrong = std::get_if<std::vector<std::string>>(&parsed)) {
    for (const auto& detail : *wrong) reader.fault("cron", detail);
  }
  return std::move(*text);
}

cells::ScheduleTiming read_timing(json::ObjectReader& reader, Faults& faults) {
  cells::ScheduleTiming timing;
  if (const auto every = reader.integer("every_ms", every_ms_min, every_ms_max))
    timing.every = cells::milliseconds(*every);
  timing.cron = read_cron(reader);
  const auto zone = reader.string("time_zone", 1, time_zone_bytes_max);
  if (zone && !is_time_zone_name(*zone))
    reader.fault("time_zone", "must be a name such as Europe/Berlin");
  if (reader.has("cron")) timing.time_zone = zone.value_or("UTC");
  if (reader.has("every_ms") == reader.has("cron"))
    faults.push_back({reader.pointer(), "must have either `every_ms` or `cron`"});
  if (reader.has("time_zone") && !reader.has("cron")) reader.fault("time_zone", "needs a `cron`");
  return timing;
}

/// The faults of the job that depend on the cell.
void check_cell(const cells::JobSpec& job, const cells::Routing& routing,
                const std::string& pointer, Faults& faults) {
  if (!is_name(job.customer) || !is_name(job.product)) return;
  const auto route = routing.find(job.customer, job.product);
  if (!route) {
    faults.push_back({pointer, "names a customer and product that no cell serves"});
  } else if (job.timeout > route->rule->settings.timeout_max) {
    faults.push_back({json::pointer_to(pointer, "timeout_ms"),
                      "must be at most " +
                          std::to_string(route->rule->settings.timeout_max.count()) +
                          ", the `timeout_max_ms` of the cell " + to_string(route->cell)});
  }
}

/// The well-formed names in `services` of a job.
ServiceNames services_named_in(const json::Value& job) {
  ServiceNames names;
  const auto services = job.is_object() ? job.find("services") : job.end();
  if (services == job.end() || !services->is_array()) return names;
  for (const auto& each : *services) {
    if (each.is_string() && is_name(each.get<std::string>())) names.insert(each.get<std::string>());
  }
  return names;
}

/// The job of a paused schedule need not fit the configuration: a schedule can be paused although
/// its service or its cell has gone.
void read_job(const json::Value& value, std::string pointer, const ScheduleRules& rules,
              cells::ScheduleSpec& spec, Faults& faults) {
  json::ObjectReader reader(value, std::move(pointer), faults);
  const CanUndo all_can = [](const auto&, const auto&) { return true; };
  auto document = spec.paused ? read_job_document(reader, services_named_in(value), all_can, faults)
                              : read_job_document(reader, rules.services, rules.can_undo, faults);
  for (const char* name : {"run_at", "delay_ms", "idempotency_key"}) {
    if (reader.any(name) != nullptr) reader.fault(name, "does not belong to a job of a schedule");
  }
  if (document.spec.parameters.size() > parameters_bytes_max)
    reader.fault("parameters",
                 "must have at most " + std::to_string(parameters_bytes_max) + " bytes");
  reader.finish();
  if (!spec.paused) check_cell(document.spec, rules.routing, reader.pointer(), faults);
  spec.job = std::move(document.spec);
  spec.expires_at = document.expires_at;
}

}  // namespace

cells::ScheduleSpec read_schedule(const json::Value& value, std::string pointer,
                                  const ScheduleRules& rules, Faults& faults) {
  cells::ScheduleSpec spec;
  json::ObjectReader reader(value, std::move(pointer), faults);
  reader.require({"job"});
  spec.paused = reader.boolean("paused").value_or(false);
  if (reader.is_object()) spec.timing = read_timing(reader, faults);
  if (const json::Value* job = reader.any("job"))
    read_job(*job, reader.pointer_of("job"), rules, spec, faults);
  if (const auto overlap = reader.string("overlap")) {
    const auto parsed = cells::parse_overlap(*overlap);
    if (!parsed) reader.fault("overlap", "must be \"skip\" or \"allow\"");
    spec.overlap = parsed.value_or(spec.overlap);
  }
  if (const auto catch_up = reader.string("catch_up")) {
    const auto parsed = cells::parse_catch_up(*catch_up);
    if (!parsed) reader.fault("catch_up", "must be \"none\", \"one\" or \"all\"");
    spec.catch_up = parsed.value_or(spec.catch_up);
  }
  for (const char* name :
       {"name", "next_run_at", "last_job", "fired", "skipped", "missed", "configured"}) {
    if (reader.any(name) != nullptr) reader.fault(name, "is read-only");
  }
  reader.finish();
  return spec;
}

json::Value show(const cells::ScheduleSpec& spec) {
  json::Value shown{{"job", show(JobDocument{spec.job, spec.expires_at})},
                    {"overlap", to_string(spec.overlap)},
                    {"catch_up", to_string(spec.catch_up)},
                    {"paused", spec.paused}};
  if (spec.timing.cron.empty()) {
    shown["every_ms"] = spec.timing.every.count();
  } else {
    shown["cron"] = spec.timing.cron;
    shown["time_zone"] = spec.timing.time_zone;
  }
  return shown;
}

}  // namespace celld::config
