// Which of a customer's jobs goes first.
#pragma once

#include <cstdint>

#include "cells/model/ids.hpp"
#include "cells/model/time.hpp"

namespace cells {

inline constexpr int priority_max = 9;
inline constexpr milliseconds priority_step_max{604'800'000};  ///< A week.

/// A customer's jobs run in order of (rank, place). Without a `step` the higher priority goes
/// first. With one, a job of priority p counts as (p - 1) steps older than its place says.
inline std::int64_t priority_rank(int priority, JobId place, milliseconds step) {
  if (step <= milliseconds{0}) return -priority;
  const auto older_by = static_cast<std::int64_t>(first_job_id_at(WallTime{step}));
  return static_cast<std::int64_t>(place) - (priority - 1) * older_by;
}

}  // namespace cells
