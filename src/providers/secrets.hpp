// What a provider must not say again.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/config/config.hpp"

namespace celld::providers {

/// What must not come back in a message: the values, and each longer word of them, because a
/// provider may quote one line of several, or "Bearer …" without its first word.
std::vector<std::string> secrets_of(
    const std::vector<std::pair<std::string, config::Secret>>& named);

}  // namespace celld::providers
