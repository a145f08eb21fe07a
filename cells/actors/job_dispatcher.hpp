// The queue of one cell.
#pragma once

#include "cells/actors/engine_context.hpp"

namespace cells {

struct DispatcherSetup {
  CellConfig config;
  SlotTerms terms;
  CellState state = CellState::active;
  Cell cell;  ///< Receives QueueIdle and JobsLeft.
};

/// Starts a dispatcher; it first reads the state of its cell from the store.
JobDispatcher spawn_job_dispatcher(caf::actor_system& system, ContextPtr context, CellKey key,
                                   DispatcherSetup setup);

}  // namespace cells
