#include "src/http/api/service_json.hpp"

#include <cmath>

#include "src/json/json.hpp"
#include "src/json/time_text.hpp"

namespace celld::api {
namespace {

json::Value limits_of(const cells::ServiceLimits& limits) {
  json::Value shown = json::Value::object();
  if (limits.concurrency) shown["concurrency"] = *limits.concurrency;
  if (!limits.rate_per_s) return shown;
  shown["rate_per_s"] = *limits.rate_per_s;
  shown["burst"] = limits.burst;
  return shown;
}

json::Value time_or_null(const std::optional<cells::WallTime>& time) {
  return time ? json::Value(json::format_time(*time)) : json::Value();
}

json::Value circuit_of(const cells::ServiceStatus& status) {
  return {{"state", cells::to_string(status.circuit)},
          {"since", time_or_null(status.circuit_since)},
          {"why", status.circuit_why.empty() ? json::Value() : json::Value(status.circuit_why)}};
}

json::Value service(const std::string& name, const std::string& type,
                    const cells::ServiceStatus& status) {
  return {{"service", name},
          {"type", type},
          {"limits", limits_of(status.protection.limits)},
          {"in_flight", status.in_flight},
          {"waiting", status.waiting},
          {"rates", {{"ended_per_s", std::round(status.ended_per_s * 1000) / 1000}}},
          {"circuit", circuit_of(status)},
          {"held_until", time_or_null(status.paused_until)}};
}

}  // namespace

std::string service_json(const std::string& name, const std::string& type,
                         const cells::ServiceStatus& status) {
  return json::dump(service(name, type, status));
}

std::string service_list_json(const std::map<std::string, cells::ServiceStatus>& services,
                              const std::map<std::string, std::string>& types,
                              const ListServicesByName& list) {
  json::Value items = json::Value::array();
  json::Value next;
  std::string last;
  for (auto at = services.upper_bound(list.after); at != services.end(); ++at) {
    const auto& [name, status] = *at;
    const auto type = types.find(name);
    if (type == types.end()) continue;
    if (items.size() == list.limit) {
      next = name_cursor(last);
      break;
    }
    items.push_back(service(name, type->second, status));
    last = name;
  }
  return json::dump({{"items", std::move(items)}, {"next_cursor", std::move(next)}});
}

}  // namespace celld::api
