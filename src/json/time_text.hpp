// Times as the API and the configuration write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cells/model/time.hpp"

namespace celld::json {

/// Appends "2026-11-20T22:42:56.123Z".
void append_time(std::string& out, cells::WallTime time);
std::string format_time(cells::WallTime time);

/// RFC 3339 in UTC ("Z" or "+00:00") with a fraction of up to nine digits, truncated to
/// milliseconds; years 1970 to 9999, no leap seconds. Nothing unless all of `text` has this form.
std::optional<cells::WallTime> parse_time(std::string_view text);

}  // namespace celld::json
