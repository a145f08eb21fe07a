// The settings of a `simulated` service.
#pragma once

#include <cstdint>
#include <optional>

#include "cells/model/time.hpp"

namespace celld::providers {

/// Simulates a provider, for demonstrations, tests and benchmarks.
struct SimulatedService {
  cells::milliseconds latency_min{0};  ///< Uniformly distributed up to `latency_max`.
  cells::milliseconds latency_max{0};
  double failure_rate = 0;  ///< The share of attempts that fail retryably, 0 to 1.
  std::uint64_t seed = 0;
  /// The share of attempts to undo that fail retryably; none: the service has no undo.
  std::optional<double> undo_failure_rate{};

  bool operator==(const SimulatedService&) const = default;
};

}  // namespace celld::providers
