// The member `services`: the providers that jobs call. Each kind of provider reads its own members.
#include <algorithm>
#include <utility>

#include "src/config/checks.hpp"
#include "src/config/sections.hpp"

namespace celld::config {
namespace {

constexpr std::size_t services_max = 1000;
constexpr std::int64_t settle_ms_max = 86'400'000;
constexpr std::int64_t concurrency_max = 100'000;
constexpr double rate_per_s_min = 0.001;
constexpr double rate_per_s_max = 1'000'000;
constexpr std::int64_t burst_max = 1'000'000;
constexpr std::int64_t failures_max = 1000;
constexpr std::int64_t circuit_ms_max = 86'400'000;

/// "\"a\", \"b\" or \"c\""
std::string types_of(const ServiceKinds& kinds) {
  std::string list;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (i > 0) list += i + 1 == kinds.size() ? " or " : ", ";
    list += json::quote(kinds[i]->type());
  }
  return list;
}

cells::ServiceLimits read_limits(const json::Value& value, std::string pointer, Faults& faults) {
  cells::ServiceLimits limits;
  json::ObjectReader reader(value, std::move(pointer), faults);
  if (const auto concurrency = reader.integer("concurrency", 1, concurrency_max))
    limits.concurrency = static_cast<std::uint32_t>(*concurrency);
  limits.rate_per_s = reader.number("rate_per_s", rate_per_s_min, rate_per_s_max);
  if (const auto burst = reader.integer("burst", 1, burst_max)) {
    limits.burst = static_cast<std::uint32_t>(*burst);
    if (!reader.has("rate_per_s")) reader.fault("burst", "must not be set without `rate_per_s`");
  }
  reader.finish();
  return limits;
}

cells::CircuitPolicy read_circuit(const json::Value& value, std::string pointer, Faults& faults) {
  cells::CircuitPolicy circuit;
  json::ObjectReader reader(value, std::move(pointer), faults);
  if (const auto failures = reader.integer("failures", 1, failures_max))
    circuit.failures = static_cast<std::uint32_t>(*failures);
  const auto read_time = [&](const char* name, std::int64_t min, milliseconds& time) {
    if (const auto read = reader.integer(name, min, circuit_ms_max)) time = milliseconds(*read);
  };
  read_time("window_ms", 1, circuit.window);
  read_time("open_ms", 1, circuit.open);
  read_time("hold_max_ms", 0, circuit.hold_max);
  reader.finish();
  return circuit;
}

Service read_service(const std::string& name, const json::Value& value, std::string pointer,
                     const ServiceKinds& kinds, const Environment& environment, Faults& faults) {
  Service service{.name = name, .settings = nullptr};
  json::ObjectReader reader(value, std::move(pointer), faults);
  if (reader.is_object() && !is_name(name))
    faults.push_back(
        {reader.pointer(), "must have a name that matches [A-Za-z0-9][A-Za-z0-9._-]{0,62}"});
  reader.require({"type"});
  const auto type = reader.string("type");
  // The type decides which members are known; without it, none is reported as unknown.
  if (!type) return service;
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const ServiceKind* each) { return each->type() == *type; });
  if (kind == kinds.end()) {
    reader.fault("type", "must be " + types_of(kinds));
    return service;
  }
  service.settings = (*kind)->read(reader, environment, faults);
  if ((*kind)->settles()) {
    if (const auto settle = reader.integer("settle_ms", 0, settle_ms_max))
      service.settle = milliseconds(*settle);
  }
  if (const json::Value* limits = reader.any("limits"))
    service.protection.limits = read_limits(*limits, reader.pointer_of("limits"), faults);
  if ((*kind)->makes_calls()) {
    if (const json::Value* circuit = reader.any("circuit"))
      service.protection.circuit = read_circuit(*circuit, reader.pointer_of("circuit"), faults);
  }
  reader.finish();
  return service;
}

}  // namespace

std::vector<Service> read_services(const json::Value& services, const ServiceKinds& kinds,
                                   const Environment& environment, Faults& faults) {
  std::vector<Service> all;
  const json::ObjectReader reader(services, "/services", faults);
  if (!reader.is_object()) return all;
  if (services.size() > services_max)
    faults.push_back(
        {reader.pointer(), "must have at most " + std::to_string(services_max) + " members"});
  for (const auto& [name, value] : services.items())
    all.push_back(read_service(name, value, reader.pointer_of(name), kinds, environment, faults));
  return all;
}

std::vector<json::Fault> check_services(const Config& config) {
  std::vector<json::Fault> faults;
  for (const auto& service : config.services) {
    for (auto& fault : service.settings->check_machine()) {
      fault.pointer.insert(0, json::pointer_to("/services", service.name));
      faults.push_back(std::move(fault));
    }
  }
  return faults;
}

}  // namespace celld::config
