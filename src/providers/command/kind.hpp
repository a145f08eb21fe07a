// The kind `command` of providers.
#pragma once

#include "src/providers/command/settings.hpp"
#include "src/providers/provider_kind.hpp"

namespace celld::providers {

const KindOf<CommandService>& command_kind();

}  // namespace celld::providers
