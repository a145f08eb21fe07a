// Times as the API writes and reads them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cells/model/time.hpp"

namespace celld::api {

/// Appends "2026-11-20T22:42:56.123Z".
void append_time(std::string& out, cells::WallTime time);
std::string format_time(cells::WallTime time);

/// RFC 3339 in UTC ("Z" or "+00:00"), with up to nine digits of a fraction, of which milliseconds
/// are kept; years 1970 to 9999, no leap seconds. Nothing when `text` is not exactly of that form.
std::optional<cells::WallTime> parse_time(std::string_view text);

}  // namespace celld::api
