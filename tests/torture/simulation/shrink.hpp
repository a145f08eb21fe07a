// Makes a failing run small enough to be read.
#pragma once

#include <cstdint>
#include <string>

#include "tests/torture/simulation/faults.hpp"

namespace simulation {

/// Smaller bounds under which the seed still breaks the promise that it breaks under these: no
/// fault that is not needed, few jobs and cells, and an early end of the faults.
Caps shrink(std::uint64_t seed, const Caps& caps, const std::string& promise);

}  // namespace simulation
