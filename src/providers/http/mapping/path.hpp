// Where a value stands in a JSON document.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/json/json.hpp"

namespace celld::providers::mappings {

/// Names of members and indexes of elements, from the document's root.
using Path = std::vector<std::string>;

/// The path of a JSON Pointer (RFC 6901); nothing if the text is not one.
std::optional<Path> parse_pointer(std::string_view text);

/// The JSON Pointer of a path.
std::string pointer_of(const Path& path);

/// The value at `path`; null pointer if there is none. An index is a decimal number without leading
/// zeros.
const json::Value* find(const json::Value& document, const Path& path);

}  // namespace celld::providers::mappings
