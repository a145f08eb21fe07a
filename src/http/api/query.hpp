// Query parameters: unknown ones are refused, each value is checked, all faults are reported at
// once.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cells/actors/schedules.hpp"
#include "src/json/json.hpp"

namespace celld::api {

using Query = std::vector<std::pair<std::string, std::string>>;
using Faults = std::vector<json::Fault>;

/// GET /v1/jobs
std::variant<cells::ListJobs, Faults> parse_job_query(const Query& query);

/// GET /v1/batches
std::variant<cells::ListBatches, Faults> parse_batch_query(const Query& query);

/// GET /v1/schedules
std::variant<cells::ListSchedules, Faults> parse_schedule_query(const Query& query);

/// GET /v1/services
struct ListServicesByName {
  std::string after{};  ///< The services that follow this name; empty: all.
  std::size_t limit = 50;
};
std::variant<ListServicesByName, Faults> parse_service_query(const Query& query);

/// GET /v1/cells
std::variant<cells::ListCells, Faults> parse_cell_query(const Query& query);

/// GET /v1/leases
std::variant<cells::ListLeases, Faults> parse_lease_query(const Query& query);

/// GET /v1/events
struct EventFilter {
  std::optional<std::string> customer{};
  std::optional<std::string> product{};
};
std::variant<EventFilter, Faults> parse_event_query(const Query& query);

/// For endpoints without query parameters: each parameter is a fault.
Faults refuse_query(const Query& query);

/// Cursors: where a list continues. Opaque to clients; the parsers above read them back.
std::string job_cursor(cells::JobId before);
std::string cell_cursor(const cells::CellKey& after);
std::string lease_cursor(const cells::Lease& after);
std::string name_cursor(const std::string& after);

}  // namespace celld::api
