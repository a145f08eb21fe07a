#include "src/json/time_text.hpp"

#include <chrono>

namespace celld::json {
namespace {

using std::chrono::sys_time;

void append_digits(std::string& out, unsigned value, int width) {
  char digits[10];
  for (int i = width - 1; i >= 0; --i) {
    digits[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  out.append(digits, static_cast<std::size_t>(width));
}

/// Parses a time from its front. After the first mismatch, everything fails.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int digits(std::size_t count, int min, int max) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value * 10 + digit();
    if (value < min || value > max) good_ = false;
    return value;
  }

  void expect(char c) {
    if (rest_.empty() || rest_.front() != c) good_ = false;
    if (good_) rest_.remove_prefix(1);
  }

  /// An optional fraction of a second.
  cells::milliseconds fraction() {
    if (!good_ || rest_.empty() || rest_.front() != '.') return cells::milliseconds(0);
    rest_.remove_prefix(1);
    int ms = 0;
    std::size_t count = 0;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; ++count) {
      const int value = digit();
      if (count < 3) ms = ms * 10 + value;
    }
    if (count == 0 || count > 9) good_ = false;
    for (; count < 3; ++count) ms *= 10;
    return cells::milliseconds(ms);
  }

  bool ends_in_utc() const { return good_ && (rest_ == "Z" || rest_ == "+00:00"); }

 private:
  int digit() {
    if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') good_ = false;
    if (!good_) return 0;
    const int value = rest_.front() - '0';
    rest_.remove_prefix(1);
    return value;
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

void append_time(std::string& out, cells::WallTime time) {
  const sys_time<cells::milliseconds> instant{time.time_since_epoch()};
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{instant - day};
  append_digits(out, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  out += '-';
  append_digits(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_digits(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_digits(out, static_cast<unsigned>(clock.hours().count()), 2);
  out += ':';
  append_digits(out, static_cast<unsigned>(clock.minutes().count()), 2);
  out += ':';
  append_digits(out, static_cast<unsigned>(clock.seconds().count()), 2);
  out += '.';
  append_digits(out, static_cast<unsigned>(clock.subseconds().count()), 3);
  out += 'Z';
}

std::string format_time(cells::WallTime time) {
  std::string text;
  append_time(text, time);
  return text;
}

std::optional<cells::WallTime> parse_time(std::string_view text) {
  Scanner scanner(text);
  const int year = scanner.digits(4, 1970, 9999);
  scanner.expect('-');
  const int month = scanner.digits(2, 1, 12);
  scanner.expect('-');
  const int day = scanner.digits(2, 1, 31);
  scanner.expect('T');
  const std::chrono::hours hours(scanner.digits(2, 0, 23));
  scanner.expect(':');
  const std::chrono::minutes minutes(scanner.digits(2, 0, 59));
  scanner.expect(':');
  const std::chrono::seconds seconds(scanner.digits(2, 0, 59));
  const cells::milliseconds fraction = scanner.fraction();
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!scanner.ends_in_utc() || !date.ok()) return std::nullopt;
  const sys_time<cells::milliseconds> instant =
      std::chrono::sys_days(date) + hours + minutes + seconds + fraction;
  return cells::WallTime(instant.time_since_epoch());
}

}  // namespace celld::json
