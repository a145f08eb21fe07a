// How ended jobs are forgotten: in steps so small, and with pauses so long, that nobody who waits
// for the store notices.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include "cells/model/time.hpp"

namespace cells {

/// What one step removes at most. It goes with a commit that others wait for.
inline constexpr std::size_t prune_jobs_max = 32;
inline constexpr microseconds prune_time_max = milliseconds{2};

/// How fast steps follow each other while there is more to remove. Slowly at first: what is removed
/// has to be written to the disk by and by, and commits wait for that now and then. Faster when
/// more becomes old than is removed.
class PrunePace {
 public:
  /// After a step that took `step`, from its question to its answer, and left jobs that should have
  /// been removed `behind` ago.
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
  std::optional<milliseconds> behind_;  ///< When it was last judged.
};

/// How long to wait, when nothing is left to remove, before looking again. Jobs are kept up to so
/// much longer than `keep`.
inline milliseconds pause_between_looks(milliseconds keep) {
  constexpr milliseconds shortest{100};
  constexpr milliseconds longest = std::chrono::minutes{1};
  return std::clamp(keep / 10, shortest, longest);
}

}  // namespace cells
