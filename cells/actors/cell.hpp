// One cell: a dispatcher and a pool under one quota.
#pragma once

#include <cstdint>
#include <optional>

#include "cells/actors/engine_context.hpp"

namespace cells {

/// How a cell starts.
struct CellSettings {
  CellKey key;
  CellQuota quota;
  CellOverride changed;      ///< By an administrator.
  bool is_instance = false;  ///< Of a template: reports when it has run dry.
};

/// Starts a cell; `owner` hears CellRanDry from an instance.
Cell spawn_cell(caf::actor_system& system, ContextPtr context, CellSettings settings,
                CellDispatcher owner);

}  // namespace cells
