// Outages of a service: times during which its calls failed one after another.
#pragma once

#include <mutex>
#include <optional>

#include "cells/model/time.hpp"
#include "cells/ports/provider.hpp"

namespace celld::providers {

/// Knows the last outage: the time from a call that failed to the next one that did not, or to the
/// end of the pause that the provider asked for. While it lasts, a circuit or a pause may hold
/// calls back. Thread-safe.
class Outages {
 public:
  /// `start`: before that, celld made no calls.
  explicit Outages(cells::SteadyTime start) : start_(start) {}

  void call_ended(const cells::CallOutcome& outcome, cells::SteadyTime now);
  void call_succeeded(cells::SteadyTime now);

  /// How much of the time from `from` to `to` celld could call the service.
  cells::milliseconds callable_within(cells::SteadyTime from, cells::SteadyTime to) const;

 private:
  const cells::SteadyTime start_;
  mutable std::mutex mutex_;
  std::optional<cells::SteadyTime> began_;  ///< The last outage.
  std::optional<cells::SteadyTime> ended_;  ///< Nothing while it lasts.
  cells::SteadyTime paused_until_{};
};

}  // namespace celld::providers
