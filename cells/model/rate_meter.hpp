// How often something happened in the last ten seconds.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "cells/model/time.hpp"

namespace cells {

/// Counts events in one-second buckets of the steady clock.
class RateMeter {
 public:
  void count(SteadyTime now, std::uint64_t events = 1) {
    if (per_second(now) == 0) since_ = now;
    buckets_[static_cast<std::size_t>(second_ % window_s)] += events;
  }

  /// Events per second over the window; 0 when there were none.
  double per_second(SteadyTime now) {
    advance_to(now);
    std::uint64_t sum = 0;
    for (const auto bucket : buckets_) sum += bucket;
    return static_cast<double>(sum) / window_s;
  }

  /// The rate of a stream that may have begun within the window: the events after the first,
  /// divided by the time since the first, at least one second. For a single event, and in the long
  /// run, the same as `per_second`.
  double pace(SteadyTime now) {
    const double mean = per_second(now);
    const double seconds = std::max(std::chrono::duration<double>(now - since_).count(), 1.0);
    if (seconds >= window_s) return mean;
    return std::max(mean, (mean * window_s - 1) / seconds);
  }

 private:
  static constexpr std::int64_t window_s = 10;

  /// Empties the buckets of the seconds that have passed since the last call.
  void advance_to(SteadyTime now) {
    const std::int64_t second =
        std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    for (auto s = std::max(second_, second - window_s) + 1; s <= second; ++s) {
      buckets_[static_cast<std::size_t>(s % window_s)] = 0;
    }
    second_ = std::max(second_, second);
  }

  std::array<std::uint64_t, window_s> buckets_{};
  std::int64_t second_ = 0;
  SteadyTime since_{};  ///< The first event after an empty window.
};

}  // namespace cells
