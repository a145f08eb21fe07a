// Times of the API: a text that is read as a time is written as the same time.
#include <algorithm>

#include "src/json/time_text.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::must;

namespace {

constexpr std::int64_t ms_before_year_10000 = 253'402'300'800'000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Checks "2026-11-20T22:42:56", the fraction and the suffix as text, without a calendar.
void check_accepted(std::string_view text, cells::WallTime time) {
  const std::string written = json::format_time(time);
  must(written.size() == 24, "a time is written with milliseconds");
  must(json::parse_time(written) == time, "a written time is read as the same time");
  must(text.size() >= 20 && text.substr(0, 19) == written.substr(0, 19),
       "a time is written with the seconds it was read with");
  must(text.ends_with("Z") || text.ends_with("+00:00"), "only UTC is read");

  std::string_view fraction = text.substr(19, text.find_first_of("Z+") - 19);
  must(fraction.empty() ||
           (fraction.front() == '.' && fraction.size() >= 2 && fraction.size() <= 10 &&
            std::all_of(fraction.begin() + 1, fraction.end(), is_digit)),
       "a fraction has one to nine digits");
  std::string kept(fraction.substr(std::min<std::size_t>(1, fraction.size()), 3));
  kept.resize(3, '0');
  must(written.substr(20, 3) == kept, "milliseconds are kept, and not rounded");
}

/// Checks that a time survives formatting and parsing. The text is hashed to make the time.
void check_moment(std::string_view text) {
  std::uint64_t ms = 0;
  for (const char c : text) ms = ms * 31 + static_cast<unsigned char>(c);
  const cells::WallTime time{
      cells::milliseconds(static_cast<std::int64_t>(ms % ms_before_year_10000))};
  must(json::parse_time(json::format_time(time)) == time, "any time is read as it was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto time = json::parse_time(text)) check_accepted(text, *time);
  check_moment(text);
  return 0;
}
