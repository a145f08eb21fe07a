// The kinds of providers that celld has.
#pragma once

#include <vector>

#include "src/config/service_kind.hpp"
#include "src/providers/provider_kind.hpp"

namespace celld::providers {

/// In the order of the documentation.
const std::vector<const ProviderKind*>& kinds();

/// The same, for the configuration.
config::ServiceKinds service_kinds();

}  // namespace celld::providers
