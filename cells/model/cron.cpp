#include "cells/model/cron.hpp"

#include <algorithm>
#include <charconv>
#include <span>

namespace cells {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::local_days;
using std::chrono::minutes;

/// Leap days of one weekday can be 40 years apart.
constexpr days search_max{41 * 366};
constexpr int sunday_as_end = 7;

constexpr std::array<std::string_view, 12> month_names{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> weekday_names{"sun", "mon", "tue", "wed",
                                                        "thu", "fri", "sat"};

struct Field {
  std::string_view name;
  int min;
  int max;
  std::span<const std::string_view> names{};  ///< Of the values from `min` on.
};
constexpr std::array<Field, 5> fields{{{"minute", 0, 59},
                                       {"hour", 0, 23},
                                       {"day of the month", 1, 31},
                                       {"month", 1, 12, month_names},
                                       {"day of the week", 0, 7, weekday_names}}};

constexpr bool has(std::uint64_t bits, unsigned value) {
  return (bits >> value & 1) != 0;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string lower_case(std::string_view text) {
  std::string lower{text};
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lower;
}

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  const bool is_plain = !text.empty() && text.front() != '-' && error == std::errc{};
  return is_plain && stopped == end ? std::optional{number} : std::nullopt;
}

/// Reads one field of an expression.
class FieldReader {
 public:
  FieldReader(const Field& field, std::vector<std::string>& faults)
      : field_(field), faults_(faults) {}

  std::uint64_t read(std::string_view text) {
    for (const auto item : split(text, ",")) read_item(item);
    return bits_;
  }

 private:
  void fault(std::string detail) { faults_.push_back(std::string{field_.name} + ": " + detail); }

  std::string bounds() const {
    return std::to_string(field_.min) + "-" + std::to_string(field_.max);
  }

  void read_item(std::string_view item) {
    const auto slash = item.find('/');
    const auto range = item.substr(0, slash);
    int step = 1;
    if (slash != std::string_view::npos) {
      const auto number = number_in(item.substr(slash + 1));
      if (!number || *number < 1 || *number > field_.max)
        return fault("`" + std::string{item} + "` needs a step of 1 to " +
                     std::to_string(field_.max));
      step = *number;
    }
    const auto dash = range.find('-');
    if (range == "*") return add(field_.min, field_.max, step);
    const auto first = value_of(range.substr(0, dash));
    if (!first) return;
    if (dash == std::string_view::npos) {
      if (slash != std::string_view::npos)
        return fault("`" + std::string{item} + "` needs a range before the step");
      return add(*first, *first, 1);
    }
    auto last = value_of(range.substr(dash + 1));
    if (!last) return;
    // "fri-sun": the week may end with a Sunday.
    if (*last < *first && *last == 0 && !number_in(range.substr(dash + 1))) last = sunday_as_end;
    if (*last < *first) return fault("the range `" + std::string{range} + "` is empty");
    add(*first, *last, step);
  }

  std::optional<int> value_of(std::string_view text) {
    const auto number = number_in(text);
    if (number && *number >= field_.min && *number <= field_.max) return number;
    const auto& names = field_.names;
    const auto name = std::find(names.begin(), names.end(), lower_case(text));
    if (!number && name != names.end()) return field_.min + static_cast<int>(name - names.begin());
    fault(text.empty() ? "a value is missing"
                       : "`" + std::string{text} + "` is not in " + bounds());
    return std::nullopt;
  }

  void add(int first, int last, int step) {
    for (int value = first; value <= last; value += step) bits_ |= std::uint64_t{1} << value;
  }

  const Field& field_;
  std::vector<std::string>& faults_;
  std::uint64_t bits_ = 0;
};

}  // namespace

std::variant<CronRule, std::vector<std::string>> CronRule::parse(std::string_view text) {
  std::vector<std::string> faults;
  auto parts = split(text.substr(0, bytes_max), " \t");
  std::erase_if(parts, [](std::string_view part) { return part.empty(); });
  if (text.size() > bytes_max) {
    faults.push_back("must have at most " + std::to_string(bytes_max) + " bytes");
  } else if (parts.size() != fields.size()) {
    faults.emplace_back(
        "must have five fields: minute, hour, day of the month, month, day of the week");
  }
  if (!faults.empty()) return faults;
  std::array<std::uint64_t, fields.size()> bits{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    bits[i] = FieldReader{fields[i], faults}.read(parts[i]);
  }
  CronRule rule;
  rule.minutes_ = bits[0];
  rule.hours_ = bits[1];
  rule.days_ = bits[2];
  rule.months_ = bits[3];
  rule.weekdays_ = bits[4];
  if (has(rule.weekdays_, sunday_as_end)) rule.weekdays_ |= 1;
  rule.either_day_ = parts[2].front() != '*' && parts[4].front() != '*';
  if (faults.empty() && !rule.has_any_day())
    faults.emplace_back("matches no day: none of the months has such a day");
  if (!faults.empty()) return faults;
  return rule;
}

bool CronRule::has_any_day() const {
  if (either_day_) return true;
  constexpr std::array<unsigned, 13> longest{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (unsigned month = 1; month < longest.size(); ++month) {
    for (unsigned day = 1; has(months_, month) && day <= longest[month]; ++day) {
      if (has(days_, day)) return true;
    }
  }
  return false;
}

std::optional<WallTime> CronRule::next_after(WallTime after, const TimeZone& zone) const {
  auto from = std::chrono::floor<minutes>(zone.local_time(after)) + minutes{1};
  while (const auto match = first_match(from)) {
    const auto at = zone.instant_of(*match);
    if (at > after) return at;
    // Clocks show this time for the second time; only the first one counts.
    from = std::chrono::floor<minutes>(*match) + minutes{1};
  }
  return std::nullopt;
}

std::optional<LocalTime> CronRule::first_match(LocalTime from) const {
  const auto first_day = std::chrono::floor<days>(from);
  for (auto day = first_day; day <= first_day + search_max; day += days{1}) {
    if (!matches(day)) continue;
    const auto begin = day == first_day ? std::chrono::ceil<minutes>(from - day) : minutes{0};
    if (const auto time = first_match_of_day(begin)) return day + *time;
  }
  return std::nullopt;
}

std::optional<minutes> CronRule::first_match_of_day(minutes from) const {
  for (auto time = from; time < days{1};) {
    const auto hour = std::chrono::floor<hours>(time);
    if (!has(hours_, static_cast<unsigned>(hour.count()))) {
      time = hour + hours{1};
    } else if (has(minutes_, static_cast<unsigned>((time - hour).count()))) {
      return time;
    } else {
      time += minutes{1};
    }
  }
  return std::nullopt;
}

bool CronRule::matches(local_days day) const {
  const std::chrono::year_month_day date{day};
  if (!has(months_, static_cast<unsigned>(date.month()))) return false;
  const bool by_date = has(days_, static_cast<unsigned>(date.day()));
  const bool by_weekday = has(weekdays_, std::chrono::weekday{day}.c_encoding());
  return either_day_ ? by_date || by_weekday : by_date && by_weekday;
}

}  // namespace cells
