// How the provider of a service is protected: limits of its calls, and its circuit breaker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cells/model/time.hpp"

namespace cells {

/// An absent member means no limit.
struct ServiceLimits {
  std::optional<std::uint32_t> concurrency;  ///< Calls at the same time.
  std::optional<double> rate_per_s;          ///< Calls that begin in a second, in the long run.
  std::uint32_t burst = 1;                   ///< Calls that may begin at once after an idle time.

  bool operator==(const ServiceLimits&) const = default;
};

struct CircuitPolicy {
  std::uint32_t failures = 5;  ///< In a row, after which the circuit opens.
  /// Failures count only within this time, not counting the time for which their calls ran.
  milliseconds window{30'000};
  milliseconds open{10'000};  ///< How long it then lets no call begin.
  /// The longest pause that a provider may ask for. Without a circuit breaker, this default
  /// applies.
  milliseconds hold_max{60'000};

  bool operator==(const CircuitPolicy&) const = default;
};

struct Protection {
  ServiceLimits limits;
  std::optional<CircuitPolicy> circuit;

  /// Whether a call needs a permit.
  bool is_any() const { return limits.concurrency || limits.rate_per_s || circuit; }
  bool operator==(const Protection&) const = default;
};

}  // namespace cells
