// Makes the provider of a configured service.
#pragma once

#include <vector>

#include "cells/ports/provider.hpp"
#include "src/config/config.hpp"
#include "src/json/json.hpp"
#include "src/providers/command_transport.hpp"
#include "src/providers/http_provider.hpp"
#include "src/providers/http_transport.hpp"

namespace celld::providers {

/// Starts the provider of `service`. It also aborts calls that its predecessor, of any type, left
/// behind. The provider may outlive the transports; its calls then end `aborted`. The transports
/// must be destroyed before the actor system, because their callbacks hold actors. Only a service
/// that is or was a `command` needs `commands`.
cells::Provider spawn_provider(caf::actor_system& system, const config::Service& service,
                               HttpTransport& http, WallClock wall_clock,
                               CommandTransport* commands = nullptr);

}  // namespace celld::providers
