// The entry point of the engine.
#pragma once

#include "cells/actors/engine_context.hpp"

namespace cells {

/// Starts the engine: begins an epoch, starts the cells, and moves jobs whose routing has changed.
/// Requests wait until the cells have started. If the store fails meanwhile, the actor ends with
/// the store's error.
CellDispatcher spawn_cell_dispatcher(caf::actor_system& system, EngineOptions options);

}  // namespace cells
