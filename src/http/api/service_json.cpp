#include "src/http/api/service_json.hpp"

#include <cmath>

#include "src/json/json.hpp"

namespace celld::api {

/// `limits`, `waiting` and `circuit` are constants: services have no limits and no circuit breaker
/// yet.
std::string service_list_json(const std::map<std::string, cells::ServiceStatus>& services,
                              const std::map<std::string, std::string>& types) {
  json::Value items = json::Value::array();
  for (const auto& [name, status] : services) {
    const auto type = types.find(name);
    if (type == types.end()) continue;
    items.push_back({{"service", name},
                     {"type", type->second},
                     {"limits", json::Value::object()},
                     {"in_flight", status.in_flight},
                     {"waiting", 0},
                     {"rates", {{"ended_per_s", std::round(status.ended_per_s * 1000) / 1000}}},
                     {"circuit", {{"state", "closed"}, {"since", nullptr}, {"why", nullptr}}}});
  }
  return json::dump({{"items", std::move(items)}, {"next_cursor", nullptr}});
}

}  // namespace celld::api
