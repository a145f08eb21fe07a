// Removes ended jobs some time after their end.
#pragma once

#include <cstddef>
#include <functional>

#include "cells/actors/protocol.hpp"

namespace cells {

struct RetentionOptions {
  JobStore store;
  std::function<WallTime()> wall_clock;
  milliseconds keep{};  ///< How long ended jobs are kept, until a KeepEnded changes it.
  // The most that one step removes. Other requests wait for the commit that includes the step.
  std::size_t step_jobs_max = 32;
  microseconds step_time_max = milliseconds{2};
};

/// Begins at once. The actor ends when the store fails.
Retention spawn_retention(caf::actor_system& system, RetentionOptions options);

}  // namespace cells
