// Lets structs be sent as CAF messages within this process.
#pragma once

#include <caf/all.hpp>

/// Declares message structs of namespace `cells`; use at global scope, one per line.
#define CELLS_MESSAGE(name) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(cells::name)
