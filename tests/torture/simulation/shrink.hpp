// Makes a failing run small enough to read.
#pragma once

#include <cstdint>
#include <string>

#include "tests/torture/simulation/faults.hpp"

namespace simulation {

/// Finds smaller bounds under which the seed still breaks `promise`: no unnecessary fault, few jobs
/// and cells, and an early end of the faults.
Caps shrink(std::uint64_t seed, const Caps& caps, const std::string& promise);

}  // namespace simulation
