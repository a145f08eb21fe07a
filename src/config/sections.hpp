// Readers for the sections of a configuration file. Each reports every fault of its section and
// returns a usable value either way.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/json/json.hpp"

namespace celld::config {

using Faults = std::vector<json::Fault>;

/// listen.cpp: the member `listen` (null: absent), with the overrides applied. Without `auth` the
/// host must be a loopback address.
Listen read_listen(const json::Value* listen, const Overrides& overrides, bool has_auth,
                   Faults& faults);

/// auth.cpp: the member `auth`.
std::vector<Token> read_tokens(const json::Value& auth, const std::set<std::string>& services,
                               Faults& faults);

/// limits.cpp: the member `limits`.
Limits read_limits(const json::Value& limits, Faults& faults);

/// capacity.cpp: the member `capacity`.
Capacity read_capacity(const json::Value& capacity, Faults& faults);
/// The pool sizes of all cells that are not templates must fit `running_max`. Not checked if the
/// cells have faults.
void check_capacity(const Config& config, Faults& faults);

/// services.cpp: the member `services`.
std::vector<Service> read_services(const json::Value& services, const ServiceKinds& kinds,
                                   const Environment& environment, Faults& faults);

/// schedules.cpp: the member `schedules`, whose jobs name these services and cells.
std::map<std::string, cells::ScheduleSpec> read_schedules(const json::Value& schedules,
                                                          const std::vector<Service>& services,
                                                          const std::vector<cells::CellRule>& cells,
                                                          Faults& faults);

/// cells.cpp: the members `defaults` (null: absent) and `cells` (null: absent or no array).
std::vector<cells::CellRule> read_cells(const json::Value* defaults, const json::Value* cells,
                                        Faults& faults);

}  // namespace celld::config
