#include "src/cli/time_words.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "src/json/time_text.hpp"

namespace celld::cli {
namespace {

constexpr double hundred_years_ms = 100.0 * 365 * 86'400'000;

constexpr std::array<std::pair<std::string_view, double>, 6> units = {{
    {"ms", 1},
    {"s", 1000},
    {"", 1000},
    {"m", 60'000},
    {"h", 3'600'000},
    {"d", 86'400'000},
}};

/// Removes and returns the leading digits of `text`.
std::string_view take_digits(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

double value_of(std::string_view digits) {
  double value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  return value;
}

std::string with_unit(std::int64_t count, const char* unit) {
  return std::to_string(count) + unit;
}

}  // namespace

std::optional<milliseconds> parse_duration(std::string_view text) {
  const std::string_view whole = take_digits(text);
  if (whole.empty() || whole.size() > 15) return std::nullopt;
  double value = value_of(whole);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const std::string_view fraction = take_digits(text);
    if (fraction.empty() || fraction.size() > 9) return std::nullopt;
    double scale = 1;
    for (std::size_t i = 0; i < fraction.size(); ++i) scale *= 10;
    value += value_of(fraction) / scale;
  }
  const auto* unit = std::find_if(units.begin(), units.end(),
                                  [&](const auto& each) { return each.first == text; });
  if (unit == units.end()) return std::nullopt;
  const double ms = value * unit->second;
  if (ms > hundred_years_ms) return std::nullopt;
  return milliseconds(std::llround(ms));
}

std::string age_text(milliseconds age) {
  const std::int64_t seconds = std::max<std::int64_t>(age.count(), 0) / 1000;
  if (seconds < 120) return with_unit(seconds, "s");
  if (seconds < 120 * 60) return with_unit(seconds / 60, "m");
  if (seconds < 48 * 3600) return with_unit(seconds / 3600, "h");
  return with_unit(seconds / 86'400, "d");
}

std::string duration_text(milliseconds duration) {
  const std::int64_t ms = std::max<std::int64_t>(duration.count(), 0);
  if (ms < 1000) return with_unit(ms, "ms");
  if (ms >= 10'000) return age_text(duration);
  return with_unit(ms / 1000, ".") + with_unit(ms % 1000 / 100, "s");
}

std::optional<std::string> time_for_api(std::string_view text) {
  std::string time(text);
  if (text.size() == std::string_view("2026-11-20").size()) time += "T00:00:00Z";
  if (!json::parse_time(time)) return std::nullopt;
  return time;
}

WallTime wall_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return WallTime(std::chrono::duration_cast<milliseconds>(now));
}

}  // namespace celld::cli
