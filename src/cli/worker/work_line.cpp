#include "src/cli/worker/work_line.hpp"

#include <charconv>
#include <optional>
#include <system_error>

namespace celld::cli {
namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// What follows the word and a blank; nothing when `line` does not begin with them.
std::optional<std::string_view> after(std::string_view line, std::string_view word) {
  if (!line.starts_with(word)) return std::nullopt;
  line.remove_prefix(word.size());
  if (line.empty() || blanks.find(line.front()) == std::string_view::npos) return std::nullopt;
  return trimmed(line);
}

std::optional<double> parse_share(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  if (percent) value /= 100;
  const bool is_share = value >= 0 && value <= 1;  // False for NaN.
  return is_share ? std::optional(value) : std::nullopt;
}

}  // namespace

WorkLine parse_work_line(std::string_view line) {
  line = trimmed(line);
  if (const auto text = after(line, "progress"))
    if (const auto share = parse_share(*text)) return ProgressLine{*share};
  if (const auto text = after(line, "message"); text && !text->empty())
    return MessageLine{std::string(*text)};
  return OtherLine{};
}

}  // namespace celld::cli
