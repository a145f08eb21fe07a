// Where a document has numbers that are out of range.
#pragma once

#include <string>

#include "src/json/json.hpp"

namespace celld::json {

/// The detail of the last of a document's `number_faults`, at an empty pointer, if `parse` has
/// listed as many as it may and found more.
inline constexpr const char* more_number_faults = "has more numbers out of range";

/// Whether the value is null or has a null in it.
bool has_null(const Value& value);

/// Whether a number in `value`, which is at `pointer`, was out of range. If not all are listed, a
/// null counts as one.
bool has_number_fault(const Document& document, const std::string& pointer, const Value& value);

}  // namespace celld::json
