// Durations and times as people write and read them on a command line.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "cells/model/time.hpp"

namespace celld::cli {

using cells::milliseconds;
using cells::WallTime;

/// "250ms", "5s", "2m", "1h", "1d", "1.5s"; a plain number is seconds. Nothing when `text` is not
/// exactly of that form, or longer than a hundred years.
std::optional<milliseconds> parse_duration(std::string_view text);

/// "0s" to "119s", "2m" to "119m", "2h" to "47h", then days: short, for a table. Negative is "0s".
std::string age_text(milliseconds age);

/// "12ms", "1.2s", "12s", and from two minutes as `age_text`: how long something took.
std::string duration_text(milliseconds duration);

/// A point in time for the API: a time in UTC as it is ("2026-11-20T22:42:56Z"), a day as its
/// beginning ("2026-11-20"). Nothing when `text` is neither.
std::optional<std::string> time_for_api(std::string_view text);

WallTime wall_now();

}  // namespace celld::cli
