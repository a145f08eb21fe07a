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
  // Steps are small, because other requests wait for the commit that includes one.
  std::size_t step_jobs = 32;  ///< The most that one step removes, unless the pace grows.
  microseconds step_time_max = milliseconds{2};
};

/// Begins at once. The actor ends when the store fails.
Retention spawn_retention(caf::actor_system& system, RetentionOptions options);

}  // namespace cells
