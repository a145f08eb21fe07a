// The effective configuration, for people.
#pragma once

#include <string>

#include "src/config/config.hpp"

namespace celld::config {

/// A JSON document in the vocabulary of the configuration file, with everything filled in. No
/// secret is in it: of `env:` and `file:` values where they come from, of others `***`; the query
/// of a URL likewise.
std::string show(const Config& config);

}  // namespace celld::config
