// Cancels the jobs of batches: one batch after the other, a bounded number of jobs at a time.
#pragma once

#include "src/http/api/batch_desk.hpp"

namespace celld::api {

using BatchCanceller = caf::typed_actor<
    /// Does nothing if the batch is waiting for its turn already. If the batch is being cancelled,
    /// goes over its jobs again.
    caf::reacts_to<CancelJobsOf>,
    /// Retries jobs that moved to another cell during the cancellation.
    caf::reacts_to<BatchTick>>;

/// The store remembers each batch that is being cancelled, so a restart loses nothing.
BatchCanceller spawn_batch_canceller(caf::actor_system& system, const ServeBatches& engine,
                                     const BatchLimits& limits);

}  // namespace celld::api
