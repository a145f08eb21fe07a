// From a configured service to its provider.
#pragma once

#include "cells/ports/provider.hpp"
#include "src/config/config.hpp"
#include "src/providers/http_provider.hpp"
#include "src/providers/http_transport.hpp"

namespace celld::providers {

/// Starts the provider of `service`. It may outlive `transport`; from then on its calls end
/// `aborted`. The transport must be gone before the actor system, because its callbacks hold
/// actors.
cells::Provider spawn_provider(caf::actor_system& system, const config::Service& service,
                               HttpTransport& transport, WallClock wall_clock);

}  // namespace celld::providers
