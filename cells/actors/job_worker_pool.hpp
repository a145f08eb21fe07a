// The workers of one cell.
#pragma once

#include "cells/actors/engine_context.hpp"

namespace cells {

/// Starts a pool; it has no workers until its first Resize.
JobWorkerPool spawn_job_worker_pool(caf::actor_system& system, ContextPtr context, CellKey cell,
                                    JobDispatcher dispatcher);

}  // namespace cells
