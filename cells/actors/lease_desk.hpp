// Brings workers outside the daemon together with the cells that have work for them.
#pragma once

#include "cells/actors/engine_context.hpp"

namespace cells {

/// The interface, in protocol.hpp, says what it does.
LeaseDesk spawn_lease_desk(caf::actor_system& system, const DeskSizes& sizes);

}  // namespace cells
