// Forgets ended jobs some time after their end.
#pragma once

#include <functional>

#include "cells/actors/protocol.hpp"

namespace cells {

struct RetentionOptions {
  JobStore store;
  std::function<WallTime()> wall_clock;
  milliseconds keep{};  ///< How long after its end; until a KeepEnded says otherwise.
};

/// Begins at once, with what was left by an earlier run. Ends by itself when the store fails.
Retention spawn_retention(caf::actor_system& system, RetentionOptions options);

}  // namespace cells
