// The provider of one `simulated` service: it does nothing, with configured latency and failures.
#pragma once

#include <string>

#include "cells/model/time.hpp"
#include "cells/ports/provider.hpp"
#include "src/providers/open_aborts.hpp"
#include "src/providers/simulated/settings.hpp"

namespace celld::providers {

/// The result of a simulated call.
struct SimulatedFate {
  cells::microseconds latency{};
  bool fails = false;

  bool operator==(const SimulatedFate&) const = default;
};

/// Depends only on the seed, the job, its step, its attempt and whether it undoes, so that one seed
/// gives one behaviour, in whatever order calls arrive.
SimulatedFate simulate(const SimulatedService& service, const cells::Job& job);

/// Answers at once if there is no latency; one timer serves all other calls. Uses the clock of the
/// actor system. Leaves aborts of unknown calls to `abort_by_lease`.
cells::Provider spawn_simulated_provider(caf::actor_system& system, std::string name,
                                         SimulatedService service, AbortByLease abort_by_lease);

}  // namespace celld::providers
