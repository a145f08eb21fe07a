// The provider of one `command` service. The command transport makes its calls.
#pragma once

#include <memory>
#include <string>

#include "cells/ports/provider.hpp"
#include "src/providers/call_provider.hpp"
#include "src/providers/command/calls.hpp"
#include "src/providers/command/settings.hpp"

namespace celld::providers {

cells::Provider spawn_command_provider(caf::actor_system& system, std::string name,
                                       const CommandService& service,
                                       std::shared_ptr<CommandCalls> calls,
                                       AbortByLease abort_by_lease, WallClock wall_clock);

}  // namespace celld::providers
