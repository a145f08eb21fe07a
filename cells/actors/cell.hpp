// One cell: a dispatcher and a pool under one quota.
#pragma once

#include "cells/actors/engine_context.hpp"

namespace cells {

/// How a cell starts.
struct CellSetup {
  CellKey key;
  CellTerms terms;
  CellOverride changed;  ///< By an administrator.
};

/// Starts a cell; `owner` hears CellRanDry from one that is to close then, and what concerns other
/// cells.
Cell spawn_cell(caf::actor_system& system, ContextPtr context, CellSetup setup,
                CellDispatcher owner);

}  // namespace cells
