// How ended jobs are forgotten: in steps so small, and with pauses so long, that nobody who waits
// for the store notices.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "cells/model/time.hpp"

namespace cells {

/// What one step removes at most. It goes with a commit that others wait for.
inline constexpr std::size_t prune_jobs_max = 32;
inline constexpr microseconds prune_time_max = milliseconds{2};

/// How long to pause after a step that left more to do and took `step`, from its question to its
/// answer: a busy store is asked the more seldom.
inline microseconds pause_between_steps(microseconds step) {
  constexpr microseconds shortest = milliseconds{5};
  constexpr microseconds longest = std::chrono::seconds{1};
  return std::clamp(2 * step, shortest, longest);
}

/// How long to wait, when nothing is left to remove, before looking again. Jobs are kept up to so
/// much longer than `keep`.
inline milliseconds pause_between_looks(milliseconds keep) {
  constexpr milliseconds shortest{100};
  constexpr milliseconds longest = std::chrono::minutes{1};
  return std::clamp(keep / 10, shortest, longest);
}

}  // namespace cells
