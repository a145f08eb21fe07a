// The state of all cells and services at one moment, with a bounded number of labels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

#include "cells/model/cell_key.hpp"
#include "cells/model/status.hpp"
#include "src/metrics/cell_tallies.hpp"

namespace celld::metrics {

/// One cell, or the sum of several.
struct CellGauges {
  cells::JobCounts jobs;
  std::uint64_t jobs_max = 0;
  cells::PoolStatus pool;
  std::optional<double> oldest_queued_s;  ///< None: unknown.

  CellGauges& operator+=(const cells::CellStatus& status);
};

struct CellSurvey {
  std::map<cells::CellKey, CellGauges> labelled;
  CellGauges others;
  std::array<std::size_t, 3> cells_by_state{};  ///< By CellState.
  std::map<std::string, cells::ServiceStatus> pull_services;
  std::map<std::string, cells::ServiceStatus> protected_services;

  /// Adds a cell to its own entry if it has a label, else to the others. Ignores templates.
  void add(const cells::CellStatus& status, CellTallies& tallies);
  /// Keeps the pull services and the protected services among these.
  void add(const std::map<std::string, cells::ServiceStatus>& services);
};

/// The metric families of all cells, pull services and protected services.
std::vector<prometheus::MetricFamily> cell_families(const CellSurvey& survey,
                                                    const CellTallies::Snapshot& tallies);

}  // namespace celld::metrics
