// Reads and checks a mapping, the member `mapping` of an `http` service.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/config/secrets.hpp"
#include "src/json/json.hpp"
#include "src/providers/http/mapping/mapping.hpp"

namespace celld::providers::mappings {

/// Reads a mapping, and records every fault. If there is any, the result must not be used.
Mapping read_mapping(const json::Value& value, std::string pointer,
                     const config::Environment& environment, std::vector<json::Fault>& faults);

/// A JSON Schema of mappings, as text.
std::string_view mapping_schema();

}  // namespace celld::providers::mappings
