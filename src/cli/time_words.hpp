// Durations and times in the notation of the command line.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "cells/model/time.hpp"

namespace celld::cli {

using cells::milliseconds;
using cells::WallTime;

/// "250ms", "5s", "2m", "1h", "1d", "1.5s"; a plain number is seconds. Nothing when `text` has
/// any other form or is longer than a hundred years.
std::optional<milliseconds> parse_duration(std::string_view text);

/// "0s" to "119s", "2m" to "119m", "2h" to "47h", then days; "0s" for a negative age.
std::string age_text(milliseconds age);

/// How long something took: "12ms", "1.2s", "12s"; from two minutes on as `age_text`.
std::string duration_text(milliseconds duration);

/// A time for the API, from a time in UTC ("2026-11-20T22:42:56Z") or from a day ("2026-11-20"),
/// which stands for its beginning. Nothing when `text` is neither.
std::optional<std::string> time_for_api(std::string_view text);

WallTime wall_now();

}  // namespace celld::cli
