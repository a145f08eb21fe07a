// The generic cell rate algorithm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cells/model/time.hpp"

namespace cells {

/// Lets `burst` events happen at once, and `rate_per_s` in the long run: in any time t, at most
/// burst + rate_per_s * t. (ITU-T Recommendation I.371, annex A: the virtual scheduling algorithm
/// of the GCRA.) Not thread-safe.
class RateLimit {
 public:
  /// `rate_per_s` must be greater than 0.
  RateLimit(double rate_per_s, std::uint32_t burst);

  /// How many events may happen now.
  std::size_t available(SteadyTime now) const;
  /// `events` have happened at `at`, which may lie before other events that are counted already.
  void take(std::size_t events, SteadyTime at);
  /// When one more event may happen; at or before `now` if it may happen now.
  SteadyTime next(SteadyTime now) const;
  /// Applies the new rate from now on. Past events still count, each for one interval of the new
  /// rate, up to a full burst.
  void change(double rate_per_s, std::uint32_t burst, SteadyTime now);
  /// Between two events in the long run.
  microseconds interval() const { return interval_; }
  /// Whether `burst` events may happen at once, as if none had happened before.
  bool is_idle(SteadyTime now) const { return !theoretical_ || *theoretical_ <= now; }

 private:
  microseconds interval_;   ///< Between two events in the long run.
  microseconds tolerance_;  ///< How far the theoretical arrival time may lie in the future.
  /// When the next event would be due if all events kept the interval.
  std::optional<SteadyTime> theoretical_;
};

}  // namespace cells
