// How fast ended jobs are removed: in steps so small, and with pauses so long, that other users of
// the store do not notice.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "cells/model/time.hpp"

namespace cells {

/// How many jobs a step removes, and the pause between steps while there is more to remove. Steps
/// are small and pauses long at first, because a later checkpoint writes the pages that steps
/// change, and commits may have to wait for it. When jobs fall due faster than they are removed,
/// the pauses get shorter, and then the steps larger; when nothing is left, the pace goes back by
/// one grade.
class PrunePace {
 public:
  /// `step_jobs`: the jobs of the smallest step.
  explicit PrunePace(std::size_t step_jobs) : step_jobs_(step_jobs) {}

  std::size_t step_jobs() const { return step_jobs_ << growth_; }

  /// The pause after one step. `step` is how long it took, from request to answer; `behind` is how
  /// long the jobs that it left have been due for removal.
  microseconds pause_after(microseconds step, milliseconds behind) {
    if (behind_ == never || since_judged_ >= judged_every) {
      if (behind >= behind_) faster();
      behind_ = behind;
      since_judged_ = {};
    }
    const auto pause = std::max(pause_, 2 * step);
    since_judged_ += step + pause;
    return pause;
  }

  /// Nothing is left to remove.
  void caught_up() {
    behind_ = never;
    if (growth_ > 0) {
      --growth_;
    } else {
      pause_ = std::min(2 * pause_, pause_max);
    }
  }

 private:
  static constexpr microseconds judged_every = milliseconds{400};
  static constexpr microseconds pause_min = milliseconds{4};
  static constexpr microseconds pause_max = milliseconds{128};
  static constexpr milliseconds never = milliseconds::max();
  static constexpr unsigned growth_max = 3;  // The step's time is bounded as well.

  void faster() {
    if (pause_ > pause_min) {
      pause_ /= 2;
    } else {
      growth_ = std::min(growth_ + 1, growth_max);
    }
  }

  std::size_t step_jobs_;
  unsigned growth_ = 0;  ///< How often the size of a step was doubled.
  microseconds pause_ = pause_max;
  microseconds since_judged_{};
  milliseconds behind_ = never;  ///< As of the last judgement.
};

/// The pause when nothing is left to remove. Jobs may be kept this much longer than `keep`.
inline milliseconds pause_between_looks(milliseconds keep) {
  constexpr milliseconds shortest{100};
  constexpr milliseconds longest = std::chrono::minutes{1};
  return std::clamp(keep / 10, shortest, longest);
}

}  // namespace cells
