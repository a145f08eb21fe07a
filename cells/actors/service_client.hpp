// The engine's side of a configured service.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cells/actors/engine_context.hpp"

namespace cells {

/// Starts the client of one service, for all cells. The client keeps a provider actor
/// running: it replaces one that dies, and answers that actor's calls with an error.
ServiceClient spawn_service_client(caf::actor_system& system, std::string name, ServiceEntry entry,
                                   std::shared_ptr<EngineProbe> probe,
                                   std::function<WallTime()> wall_clock,
                                   std::size_t permits_max = DeskSizes{}.permits_max);

}  // namespace cells
