// Lends the slots that cells leave idle to cells that could use more.
#pragma once

#include "cells/actors/slots.hpp"

namespace cells {

/// The interface, in slots.hpp, says what it does.
CapacityDesk spawn_capacity_desk(caf::actor_system& system);

}  // namespace cells
