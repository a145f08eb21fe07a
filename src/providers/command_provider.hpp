// The provider of one `command` service: an actor that makes each call through the command
// transport.
#pragma once

#include <memory>
#include <string>

#include "cells/ports/provider.hpp"
#include "src/config/config.hpp"
#include "src/providers/command_calls.hpp"
#include "src/providers/http_provider.hpp"

namespace celld::providers {

/// Remembers only whom to answer: the commands themselves are the transport's, by lease, so that a
/// successor can abort what this actor left behind. When it ends, it ends its calls.
cells::Provider spawn_command_provider(caf::actor_system& system, std::string name,
                                       const config::CommandService& service,
                                       std::shared_ptr<CommandCalls> calls, WallClock wall_clock);

}  // namespace celld::providers
