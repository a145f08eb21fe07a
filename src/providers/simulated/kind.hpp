// The kind `simulated` of providers.
#pragma once

#include "src/providers/provider_kind.hpp"
#include "src/providers/simulated/settings.hpp"

namespace celld::providers {

const KindOf<SimulatedService>& simulated_kind();

}  // namespace celld::providers
