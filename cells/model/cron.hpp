// Cron expressions: minute, hour, day of the month, month, day of the week.
//
// A field is a list of values, ranges and `*`, separated by commas; `/n` after a range or `*` takes
// every n-th value. Months and days of the week may be named ("jan", "mon"), and Sunday is 0 or 7.
// If neither day field begins with `*`, a day has to match only one of them; otherwise it has to
// match both, as in Vixie's cron.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cells/model/time.hpp"
#include "cells/model/time_zone.hpp"

namespace cells {

class CronRule {
 public:
  static constexpr std::size_t bytes_max = 256;  ///< Of an expression.

  /// The rule, or everything that is wrong with the text, such as "minute: 61 is not in 0-59".
  static std::variant<CronRule, std::vector<std::string>> parse(std::string_view text);

  /// The first matching time after this one, at most 41 years later. A local time that a change of
  /// the zone's offset skips is moved to the end of the gap; one that occurs twice matches only the
  /// first time.
  std::optional<WallTime> next_after(WallTime after, const TimeZone& zone) const;

 private:
  CronRule() = default;

  bool matches(std::chrono::local_days day) const;
  std::optional<LocalTime> first_match(LocalTime from) const;
  std::optional<std::chrono::minutes> first_match_of_day(std::chrono::minutes from) const;
  bool has_any_day() const;

  // Bit n: the value n.
  std::uint64_t minutes_ = 0;
  std::uint64_t hours_ = 0;
  std::uint64_t days_ = 0;    ///< Of the month, from 1.
  std::uint64_t months_ = 0;  ///< From 1.
  std::uint64_t weekdays_ = 0;
  bool either_day_ = false;  ///< A day has to match only one of the day fields.
};

}  // namespace cells
