// The document of a job, as clients submit it and as schedules contain it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cells/model/job.hpp"
#include "cells/model/time.hpp"
#include "src/config/config.hpp"
#include "src/json/json.hpp"

namespace celld::config {

using ServiceNames = std::set<std::string, std::less<>>;

/// The members that a submission and a schedule have in common.
struct JobDocument {
  cells::JobSpec spec;  ///< A `timeout` or `max_attempts` of 0 means the cell's.
  std::optional<cells::WallTime> expires_at{};
  /// Faults for services that are not configured, or that cannot undo what a compensating job may
  /// ask them to undo.
  std::size_t unfit_services = 0;
};

/// Whether this service can undo what it has done for this action.
using CanUndo = std::function<bool(const std::string& service, const std::string& action)>;
CanUndo undos_of(const std::vector<Service>& services);

/// Does not finish the reader. If `can_undo` is null, no service can.
JobDocument read_job_document(json::ObjectReader& reader, const ServiceNames& services,
                              const CanUndo& can_undo, std::vector<json::Fault>& faults);

/// A member that is a time in UTC.
std::optional<cells::WallTime> read_time(json::ObjectReader& reader, std::string_view name);

/// The document, which reads as the same job.
json::Value show(const JobDocument& document);

}  // namespace celld::config
