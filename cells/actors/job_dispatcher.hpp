// The queue of one cell.
#pragma once

#include "cells/actors/engine_context.hpp"

namespace cells {

/// Starts a dispatcher; it first takes up what the store has for its cell. It reports QueueRanDry
/// to `cell`, which may be null.
JobDispatcher spawn_job_dispatcher(caf::actor_system& system, ContextPtr context, CellKey key,
                                   CellQuota quota, std::uint32_t running_max, Cell cell);

}  // namespace cells
