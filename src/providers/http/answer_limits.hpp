// What may be in the answer of a provider.
#pragma once

#include "src/json/json.hpp"

namespace celld::providers {

/// The length of an answer bounds the number of its values: in 1 MiB there is no room for more.
inline constexpr json::ParseLimits answer_limits{.nodes_max = 1 << 20};

}  // namespace celld::providers
