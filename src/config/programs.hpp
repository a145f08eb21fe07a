// Checks that the programs of command services can run on this machine.
#pragma once

#include <vector>

#include "src/config/config.hpp"

namespace celld::config {

/// One fault per `command` service whose program does not exist or is not executable for celld.
std::vector<json::Fault> check_programs(const Config& config);

}  // namespace celld::config
