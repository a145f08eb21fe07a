// The member `schedules`: jobs that are submitted again and again.
#include "src/config/checks.hpp"
#include "src/config/schedule_document.hpp"
#include "src/config/sections.hpp"

namespace celld::config {
namespace {

constexpr std::size_t configured_schedules_max = 1000;

}  // namespace

std::map<std::string, cells::ScheduleSpec> read_schedules(const json::Value& schedules,
                                                          const std::vector<Service>& services,
                                                          const std::vector<cells::CellRule>& cells,
                                                          Faults& faults) {
  std::map<std::string, cells::ScheduleSpec> all;
  const json::ObjectReader reader(schedules, "/schedules", faults);
  if (!reader.is_object()) return all;
  if (schedules.size() > configured_schedules_max)
    faults.push_back({reader.pointer(), "must have at most " +
                                            std::to_string(configured_schedules_max) + " members"});
  ServiceNames names;
  for (const auto& service : services) names.insert(service.name);
  const cells::Routing routing{cells};
  for (const auto& [name, value] : schedules.items()) {
    if (!is_name(name))
      faults.push_back({reader.pointer_of(name),
                        "must have a name that matches [A-Za-z0-9][A-Za-z0-9._-]{0,62}"});
    all[name] = read_schedule(value, reader.pointer_of(name), {names, routing}, faults);
  }
  return all;
}

std::vector<json::Fault> check_time_zones(const Config& config, const TimeZoneFault& fault_of) {
  Faults faults;
  for (const auto& [name, spec] : config.schedules) {
    if (spec.timing.cron.empty()) continue;
    auto detail = fault_of(spec.timing.time_zone);
    if (!detail.empty())
      faults.push_back(
          {json::pointer_to(json::pointer_to("/schedules", name), "time_zone"), std::move(detail)});
  }
  return faults;
}

}  // namespace celld::config
