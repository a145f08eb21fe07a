// How fast jobs end, from thousands per second to one every few hours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cells/model/time.hpp"

namespace cells {

/// Remembers the last sixteen seconds in which a job ended, however long ago they were, so that the
/// rate of a slow cell is known too. Jobs that end at the same moment all count. The clock may
/// stand still while there is nothing to run (BusyClock).
class EndRateMeter {
 public:
  void count(SteadyTime now, std::uint32_t jobs = 1);
  /// Jobs per second, estimated from those that have ended; 0 if none has.
  double per_second(SteadyTime now) const;
  /// When a job last ended, in seconds of the steady clock.
  std::int64_t last_s() const { return size_ == 0 ? 0 : at(size_ - 1).second; }

 private:
  static constexpr std::size_t seconds_max = 16;
  struct Second {
    std::int64_t second = 0;
    std::uint64_t jobs = 0;
  };

  const Second& at(std::size_t index) const { return seconds_[(first_ + index) % seconds_max]; }
  bool is_slower_now(std::int64_t second) const;

  std::array<Second, seconds_max> seconds_{};
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace cells
