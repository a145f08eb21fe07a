// The document of a schedule, as clients put it and as the configuration contains it.
#pragma once

#include <string>
#include <vector>

#include "cells/model/routing.hpp"
#include "cells/model/schedule.hpp"
#include "src/config/job_document.hpp"
#include "src/json/json.hpp"

namespace celld::config {

/// What a job may refer to.
struct ScheduleRules {
  const ServiceNames& services;
  const cells::Routing& routing;
  CanUndo can_undo{};
};

/// Reads a schedule, and records every fault, those of its job included. Does not check that the
/// time zone exists: see check_time_zones.
cells::ScheduleSpec read_schedule(const json::Value& value, std::string pointer,
                                  const ScheduleRules& rules, std::vector<json::Fault>& faults);

/// The members of the document, which reads as the same schedule.
json::Value show(const cells::ScheduleSpec& spec);

}  // namespace celld::config
