// One cell: a dispatcher and a pool under the same settings.
#pragma once

#include "cells/actors/engine_context.hpp"

namespace cells {

struct CellSetup {
  CellKey key;
  CellConfig config;
  CellOverride changed;  ///< By an administrator.
};

/// Starts a cell. The cell reports what concerns other cells to `owner`, and sends CellIdle when it
/// may be closed.
Cell spawn_cell(caf::actor_system& system, ContextPtr context, CellSetup setup,
                CellDispatcher owner);

}  // namespace cells
