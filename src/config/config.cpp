// Reads the whole file: its syntax, its small sections, and the others through sections.hpp.
#include "src/config/config.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "src/config/sections.hpp"

namespace celld::config {
namespace {

constexpr json::ParseLimits file_limits{.depth_max = 64, .nodes_max = 8'000'000};
constexpr std::int64_t recent_jobs_min = 100;
constexpr std::int64_t recent_jobs_max = 1'000'000;
constexpr std::int64_t retention_ms_min = 1000;
constexpr std::int64_t retention_ms_max = 3'155'760'000'000;  // A hundred years.
constexpr std::int64_t shutdown_grace_ms_max = 3'600'000;

/// What celld itself does with this file in the data directory, if anything.
std::string_view use_of(std::string_view name) {
  if (name == "celld-backup.partial") return "celld removes this file when it starts";
  if (name == "celld.lock") return "celld locks this file";
  if (name == "celld") return "its lock file would be celld.lock, which celld uses itself";
  return "";
}

Store read_store(const json::Value& value, Faults& faults) {
  Store store;
  json::ObjectReader reader(value, "/store", faults);
  if (const auto type = reader.string("type"); type && *type != "sqlite")
    reader.fault("type", "must be \"sqlite\"");
  if (auto path = reader.string("path", 1, 4095)) {
    store.path = std::move(*path);
    const auto name = std::filesystem::path(store.path).lexically_normal().string();
    if (const auto use = use_of(name); !use.empty())
      reader.fault("path", "must not be \"" + name + "\": " + std::string{use});
  }
  if (const auto jobs = reader.integer("recent_jobs", recent_jobs_min, recent_jobs_max)) {
    store.recent_jobs = static_cast<std::size_t>(*jobs);
  }
  reader.finish();
  return store;
}

Config read_file(const json::Value& value, const ServiceKinds& kinds,
                 const Environment& environment, const Overrides& overrides, Faults& faults) {
  Config config;
  json::ObjectReader reader(value, "", faults);
  reader.require({"services", "cells"});
  const json::Value* auth = reader.any("auth");
  config.listen = read_listen(reader.any("listen"), overrides, auth != nullptr, faults);
  if (const json::Value* store = reader.any("store")) config.store = read_store(*store, faults);
  if (const json::Value* services = reader.any("services"))
    config.services = read_services(*services, kinds, environment, faults);
  const json::Value* defaults = reader.any("defaults");
  config.cells = read_cells(defaults, reader.array("cells"), faults);
  if (const auto keep = reader.integer("retention_ms", retention_ms_min, retention_ms_max))
    config.retention = milliseconds(*keep);
  if (const auto grace = reader.integer("shutdown_grace_ms", 0, shutdown_grace_ms_max))
    config.shutdown_grace = milliseconds(*grace);
  std::set<std::string> names;
  for (const auto& service : config.services) names.insert(service.name);
  if (auth != nullptr) config.tokens = read_tokens(*auth, names, faults);
  if (const json::Value* schedules = reader.any("schedules"))
    config.schedules = read_schedules(*schedules, config.services, config.cells, faults);
  if (const json::Value* limits = reader.any("limits"))
    config.limits = read_limits(*limits, faults);
  if (const json::Value* capacity = reader.any("capacity"))
    config.capacity = read_capacity(*capacity, faults);
  check_capacity(config, faults);
  reader.refuse_reserved({"mappings"});
  reader.finish();
  return config;
}

bool is_within(const json::Fault& fault, const std::string& section) {
  return fault.pointer == section || fault.pointer.starts_with(section + "/");
}

void check_machine(const Config& config, const std::vector<MachineCheck>& checks, Faults& faults) {
  Faults found;
  for (const auto& check : checks) {
    const bool faulty = std::any_of(faults.begin(), faults.end(), [&](const json::Fault& fault) {
      return is_within(fault, check.section);
    });
    if (faulty) continue;
    for (auto& fault : check.faults_of(config)) found.push_back(std::move(fault));
  }
  faults.insert(faults.end(), found.begin(), found.end());
}

}  // namespace

Outcome parse_config(std::string_view text, const ServiceKinds& kinds,
                     const Environment& environment, const Overrides& overrides,
                     const std::vector<MachineCheck>& checks) {
  auto parsed = json::parse(text, file_limits);
  if (auto* error = std::get_if<json::SyntaxError>(&parsed))
    return Faults{{"", std::move(error->detail)}};
  auto& document = std::get<json::Document>(parsed);
  Faults faults = std::move(document.number_faults);
  Config config = read_file(document.value, kinds, environment, overrides, faults);
  check_machine(config, checks, faults);
  if (!faults.empty()) return faults;
  return config;
}

}  // namespace celld::config
