// The queue of one cell.
#pragma once

#include "cells/actors/engine_context.hpp"

namespace cells {

/// How a dispatcher starts.
struct DispatcherSetup {
  CellTerms terms;
  std::uint32_t running_max = 0;
  CellState state = CellState::active;
  Cell cell;  ///< Hears QueueRanDry and JobsLeft.
};

/// Starts a dispatcher; it first takes up what the store has for its cell.
JobDispatcher spawn_job_dispatcher(caf::actor_system& system, ContextPtr context, CellKey key,
                                   DispatcherSetup setup);

}  // namespace cells
