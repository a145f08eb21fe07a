// The entry to the engine.
#pragma once

#include "cells/actors/engine_context.hpp"

namespace cells {

/// Starts the engine: begins an epoch, moves jobs whose routing changed, starts the cells. Requests
/// wait until it is done; when the store fails meanwhile, the actor ends with its error.
CellDispatcher spawn_cell_dispatcher(caf::actor_system& system, EngineOptions options);

}  // namespace cells
