// When the jobs of a cell have ended, and how slowly the engine may take them to end.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "cells/model/time.hpp"
#include "tests/torture/simulation/cell_counts.hpp"

namespace simulation {

using namespace cells;

/// Measures without the time in which the cell had no jobs. The engine also leaves out the time in
/// which no job was due, unless such jobs fill the queue.
class CellEnds {
 public:
  /// The new dispatcher does not know of earlier ends.
  void dispatcher_started(SteadyTime now) {
    ends_.clear();
    started_ = now;
  }
  void count(std::size_t unfinished, SteadyTime now) {
    if (unfinished > 0) {
      empty_ = empty_until(now);
      empty_since_.reset();
    } else if (!empty_since_) {
      empty_since_ = now;
    }
  }
  void ended(SteadyTime now) { ends_.push_back({now, now - empty_until(now)}); }

  /// The lowest rate, in jobs per second, that the engine may have measured between these times;
  /// none: it need not have measured any. It measures from the first end that it remembers, or from
  /// the last one before a long pause; for the first 10 s, it divides by 10 s.
  std::optional<double> least_rate(SteadyTime from, SteadyTime until) const {
    constexpr std::chrono::seconds first_seconds{8};  // Of 10 s, which may begin and end later.
    const SteadyTime heard = from - in_transit;
    const SteadyTime busy = until - empty_until(until);
    const auto lately = count_later(busy - first_seconds, heard);
    if (lately == 0) return std::nullopt;
    double least = static_cast<double>(lately) / 10;
    for (const auto& first : ends_) {
      const auto jobs = count_later(first.busy + one_second, heard);
      if (first.busy > busy - first_seconds || jobs == 0) continue;
      const std::chrono::duration<double> time = busy - first.busy + one_second;
      least = std::min(least, static_cast<double>(jobs) / time.count());
    }
    return least;
  }

 private:
  /// A second of the engine, which hears of an end a little later.
  static constexpr milliseconds one_second = std::chrono::seconds{1} + in_transit;

  struct End {
    SteadyTime at;
    SteadyTime busy;  ///< Without the time in which the cell had no jobs.
  };

  /// How long the cell has had no jobs, less the time that the engine may not know of yet.
  microseconds empty_until(SteadyTime now) const {
    if (!empty_since_) return empty_;
    return empty_ + std::max<microseconds>(now - *empty_since_ - 2 * in_transit, microseconds{0});
  }

  /// Counts the ends from `busy` on that the engine had heard of by `heard`. A dispatcher may not
  /// hear of ends just after its start, because its predecessor did.
  std::size_t count_later(SteadyTime busy, SteadyTime heard) const {
    return static_cast<std::size_t>(std::count_if(ends_.begin(), ends_.end(), [&](const End& end) {
      return end.busy >= busy && end.at <= heard && end.at >= started_ + in_transit;
    }));
  }

  std::vector<End> ends_;
  SteadyTime started_{};
  microseconds empty_{0};  ///< Until it last had jobs.
  std::optional<SteadyTime> empty_since_;
};

}  // namespace simulation
