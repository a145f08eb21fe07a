// How fast ended jobs are removed: in steps so small, and with pauses so long, that other users of
// the store do not notice.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include "cells/model/time.hpp"

namespace cells {

/// The pause between steps while there is more to remove. It starts out long, because the pages
/// that steps change are written by a later checkpoint, which commits may have to wait for. It gets
/// shorter when jobs fall due for removal faster than they are removed.
class PrunePace {
 public:
  /// The pause after one step. `step` is how long it took, from request to answer; `behind` is how
  /// long ago the jobs that it left had fallen due for removal.
  microseconds pause_after(microseconds step, milliseconds behind) {
    if (steps_ % steps_to_judge == 0) {
      if (behind_ && behind >= *behind_) pause_ = std::max(pause_ / 2, pause_min);
      behind_ = behind;
    }
    ++steps_;
    return std::max(pause_, 2 * step);
  }

 private:
  static constexpr std::size_t steps_to_judge = 64;
  static constexpr microseconds pause_min = milliseconds{4};

  microseconds pause_ = milliseconds{128};
  std::size_t steps_ = 0;
  std::optional<milliseconds> behind_;  ///< As of the last comparison.
};

/// The pause when nothing is left to remove. Jobs may be kept this much longer than `keep`.
inline milliseconds pause_between_looks(milliseconds keep) {
  constexpr milliseconds shortest{100};
  constexpr milliseconds longest = std::chrono::minutes{1};
  return std::clamp(keep / 10, shortest, longest);
}

}  // namespace cells
