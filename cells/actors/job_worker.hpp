// A worker announces itself, makes one attempt, reports its end, and announces itself again.
#pragma once

#include "cells/actors/engine_context.hpp"

namespace cells {

/// Starts a worker that announces itself to `dispatcher`.
JobWorker spawn_job_worker(caf::actor_system& system, ContextPtr context, CellKey cell,
                           JobDispatcher dispatcher);

}  // namespace cells
