// Whether the programs of commands can be run here.
#pragma once

#include <vector>

#include "src/config/config.hpp"

namespace celld::config {

/// A fault for each `command` whose program is not there, or may not be executed by this process.
std::vector<json::Fault> check_programs(const Config& config);

}  // namespace celld::config
