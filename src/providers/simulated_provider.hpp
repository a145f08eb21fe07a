// The provider of one `simulated` service: latency and failure as configured, and nothing done.
#pragma once

#include <string>

#include "cells/model/time.hpp"
#include "cells/ports/provider.hpp"
#include "src/config/config.hpp"
#include "src/providers/open_aborts.hpp"

namespace celld::providers {

/// How a simulated call goes.
struct SimulatedFate {
  cells::microseconds latency{};
  bool fails = false;

  bool operator==(const SimulatedFate&) const = default;
};

/// Follows from the seed, the job, its step and its attempt alone: one seed is one behaviour, in
/// whatever order calls come.
SimulatedFate simulate(const config::SimulatedService& service, const cells::Job& job);

/// Answers at once where there is no latency, and uses one timer for all other calls. Goes by the
/// clock of the actor system. A call that it does not know is left to `abort_by_lease`.
cells::Provider spawn_simulated_provider(caf::actor_system& system, std::string name,
                                         config::SimulatedService service,
                                         AbortByLease abort_by_lease);

}  // namespace celld::providers
