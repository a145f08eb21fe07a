// The engine's side of a configured service.
#pragma once

#include <string>

#include "cells/actors/engine_context.hpp"

namespace cells {

/// Starts a client for one service, shared by all cells. It keeps a provider running: one that dies
/// is replaced, and the calls that it had are answered with an error.
ServiceClient spawn_service_client(caf::actor_system& system, std::string name, ServiceEntry entry,
                                   std::shared_ptr<EngineProbe> probe);

}  // namespace cells
