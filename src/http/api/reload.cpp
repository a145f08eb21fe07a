#include "src/http/api/reload.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "src/http/api/problem.hpp"

namespace celld::api {
namespace {

json::Value shown(const cells::CellKey& cell) {
  return {{"customer", cell.customer}, {"product", cell.product}};
}

json::Value shown(const std::string& name) {
  return name;
}

/// Whole numbers without a fraction.
json::Value limit_json(std::optional<double> limit) {
  if (!limit) return nullptr;
  const auto whole = static_cast<std::int64_t>(*limit);
  return static_cast<double>(whole) == *limit ? json::Value(whole) : json::Value(*limit);
}

template <class Name>
json::Value shown(const std::vector<Name>& names) {
  json::Value list = json::Value::array();
  for (const auto& name : names) list.push_back(shown(name));
  return list;
}

template <class Name>
json::Value shown(const config::Difference<Name>& difference) {
  return {{"added", shown(difference.added)},
          {"changed", shown(difference.changed)},
          {"removed", shown(difference.removed)}};
}

std::string reload_json(const ReloadReport& report) {
  json::Value masked = json::Value::array();
  for (const auto& setting : report.masked) {
    masked.push_back({{"cell", shown(setting.cell)},
                      {"setting", setting.setting},
                      {"configured", limit_json(setting.configured)},
                      {"in_force", limit_json(setting.in_force)}});
  }
  const auto& changes = report.changes;
  return json::dump({{"changed",
                      {{"cells", shown(changes.cells)},
                       {"services", shown(changes.services)},
                       {"settings", shown(changes.settings)}}},
                     {"masked", std::move(masked)},
                     {"restart_required", shown(changes.restart_required)}});
}

}  // namespace

std::string limit_text(std::optional<double> limit) {
  return limit ? json::dump(limit_json(limit)) : "none";
}

http::Response reload_response(const ReloadOutcome& outcome) {
  if (const auto* faults = std::get_if<std::vector<json::Fault>>(&outcome)) {
    return to_response(
        {.kind = ProblemKind::invalid_configuration,
         .detail = "The configuration file has faults. The running configuration is unchanged.",
         .errors = *faults});
  }
  if (std::holds_alternative<ReloadRefused>(outcome)) {
    return to_response({.kind = ProblemKind::shutting_down, .detail = "celld is shutting down."});
  }
  http::Response response;
  response.status = 200;
  response.body = reload_json(std::get<ReloadReport>(outcome));
  return response;
}

}  // namespace celld::api
