// Shows the configuration in force, without secrets.
#pragma once

#include <string>

#include "src/config/config.hpp"

namespace celld::config {

/// A JSON document in the format of the configuration file, with all defaults filled in. It
/// contains no secret: `env:` and `file:` values show their source; literal values, token digests
/// and the queries of URLs show `***`.
std::string show(const Config& config);

}  // namespace celld::config
