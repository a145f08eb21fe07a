// Cron expressions: an accepted text is due when its fields say, as a reader that walks over all
// minutes finds; any other text has faults.
#include <array>
#include <string>
#include <variant>
#include <vector>

#include "cells/model/cron.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::must;

namespace {

using std::chrono::minutes;

/// Clocks that skip an hour once, and show another one twice.
class OneYear final : public cells::TimeZone {
 public:
  static constexpr cells::WallTime spring{std::chrono::hours{24 * 20'500}};
  static constexpr cells::WallTime autumn{std::chrono::hours{24 * 20'700}};

  cells::LocalTime local_time(cells::WallTime at) const override {
    const bool summer = at >= spring && at < autumn;
    return cells::LocalTime{std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()) +
                            std::chrono::hours{summer ? 1 : 0}};
  }
  cells::WallTime instant_of(cells::LocalTime local) const override {
    const cells::WallTime winter{local.time_since_epoch()};
    const auto summer = winter - std::chrono::hours{1};
    if (winter < spring || summer >= autumn) return winter;
    return summer < spring ? spring : summer;
  }
};

/// The number that a word stands for, as the table says; -1: none.
int value_of(const std::string& word, int field) {
  static const std::array<std::vector<std::string>, 2> names{
      {{"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"},
       {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}};
  std::string lower;
  for (const char c : word) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (field >= 3) {
    const auto& list = names[static_cast<std::size_t>(field - 3)];
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (lower == list[i]) return static_cast<int>(i);
    }
  }
  return std::stoi(word);
}

/// Whether a value is in a field, item by item.
bool is_in(const std::string& field_text, int field, int value) {
  constexpr std::array<int, 5> mins{0, 0, 1, 1, 0};
  constexpr std::array<int, 5> maxs{59, 23, 31, 12, 7};
  std::size_t at = 0;
  while (at <= field_text.size()) {
    const auto end = std::min(field_text.find(',', at), field_text.size());
    std::string item = field_text.substr(at, end - at);
    at = end + 1;
    int step = 1;
    if (const auto slash = item.find('/'); slash != std::string::npos) {
      step = std::stoi(item.substr(slash + 1));
      item.resize(slash);
    }
    int first = mins[static_cast<std::size_t>(field)];
    int last = maxs[static_cast<std::size_t>(field)];
    if (item != "*") {
      const auto dash = item.find('-');
      first = value_of(item.substr(0, dash), field);
      last = dash == std::string::npos ? first : value_of(item.substr(dash + 1), field);
      if (last < first) last = 7;  // A week that ends with "sun".
    }
    for (int each = first; each <= last; each += step) {
      if (each == value || (field == 4 && each == 7 && value == 0)) return true;
    }
  }
  return false;
}

std::array<std::string, 5> fields_of(std::string_view text) {
  std::array<std::string, 5> fields;
  std::size_t field = 0;
  for (const char c : text) {
    if (c != ' ' && c != '\t') {
      fields.at(field) += c;
    } else if (field < 4 && !fields.at(field).empty()) {
      ++field;
    }
  }
  return fields;
}

bool is_due(const std::array<std::string, 5>& fields, cells::LocalTime local) {
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date{day};
  const auto minute = std::chrono::duration_cast<minutes>(local - day).count();
  const bool by_date = is_in(fields[2], 2, static_cast<int>(static_cast<unsigned>(date.day())));
  const bool by_weekday =
      is_in(fields[4], 4, static_cast<int>(std::chrono::weekday{day}.c_encoding()));
  const bool either = fields[2].front() != '*' && fields[4].front() != '*';
  return is_in(fields[0], 0, static_cast<int>(minute % 60)) &&
         is_in(fields[1], 1, static_cast<int>(minute / 60)) &&
         is_in(fields[3], 3, static_cast<int>(static_cast<unsigned>(date.month()))) &&
         (either ? by_date || by_weekday : by_date && by_weekday);
}

/// Walks over the local minutes of two days.
void check_rule(const cells::CronRule& rule, std::string_view text, cells::WallTime from) {
  const OneYear zone;
  const auto fields = fields_of(text);
  const auto found = rule.next_after(from, zone);
  const auto begin = std::chrono::floor<minutes>(zone.local_time(from)) - std::chrono::hours{2};
  for (minutes ahead{0}; ahead < std::chrono::hours{50}; ++ahead) {
    if (!is_due(fields, begin + ahead)) continue;
    const auto at = zone.instant_of(begin + ahead);
    if (at <= from) continue;
    must(found == at, "a rule is due when its fields say");
    return;
  }
  must(!found || *found > from + std::chrono::hours{46}, "a rule is due only when its fields say");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const auto parsed = cells::CronRule::parse(text);
  const auto* rule = std::get_if<cells::CronRule>(&parsed);
  if (rule == nullptr) {
    must(!std::get<std::vector<std::string>>(parsed).empty(), "a text that is no rule has faults");
    return 0;
  }
  must(text.size() <= cells::CronRule::bytes_max, "a rule has a bounded text");
  fuzz::Dice dice{text};
  const cells::milliseconds within{static_cast<std::int64_t>(dice.roll(86'400'000))};
  check_rule(*rule, text, OneYear::spring - std::chrono::hours{12} + within);
  check_rule(*rule, text, OneYear::autumn - std::chrono::hours{12} + within);
  check_rule(*rule, text, cells::WallTime{std::chrono::hours{24 * dice.roll(40'000)}} + within);
  return 0;
}
