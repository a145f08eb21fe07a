// What a reload has changed, as people read it.
#pragma once

#include <string>

#include "src/json/json.hpp"

namespace celld::cli {

/// Lines: that the file was read, then one for each thing that is different now, that an override
/// keeps from counting, or that waits for a restart.
std::string reload_text(const json::Value& report);

}  // namespace celld::cli
