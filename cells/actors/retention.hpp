// Removes ended jobs some time after their end.
#pragma once

#include <functional>

#include "cells/actors/protocol.hpp"

namespace cells {

struct RetentionOptions {
  JobStore store;
  std::function<WallTime()> wall_clock;
  milliseconds keep{};  ///< How long ended jobs are kept, until a KeepEnded changes it.
};

/// Begins at once. The actor ends when the store fails.
Retention spawn_retention(caf::actor_system& system, RetentionOptions options);

}  // namespace cells
