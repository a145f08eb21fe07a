// A human-readable view of a reload.
#pragma once

#include <string>

#include "src/json/json.hpp"

namespace celld::cli {

/// A headline, then one line for each change, each setting that an override masks, and each setting
/// that needs a restart.
std::string reload_text(const json::Value& report);

}  // namespace celld::cli
