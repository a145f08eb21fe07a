// How a proxy in front of celld, less strict than celld, may read a request. Written independently
// of celld's parser, and as lenient as such programs have been.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace celld::fuzz {

struct LenientHabit {
  bool first_length_wins;  ///< Of several; otherwise the last.
  bool length_wins;        ///< Over a Transfer-Encoding; otherwise that wins.
  bool bare_cr_ends_line;
};

inline constexpr std::array<LenientHabit, 4> lenient_habits = {
    {{true, false, false}, {false, false, true}, {true, true, true}, {false, true, false}}};

struct LenientReading {
  std::string body;
  std::size_t size = 0;  ///< Of the whole request.
};

namespace lenient {

/// Removes one line from the front. It ends with CR LF, LF, or, if `bare_cr`, with a bare CR.
inline std::optional<std::string_view> take_line(std::string_view& rest, bool bare_cr) {
  const std::size_t end = bare_cr ? rest.find_first_of("\r\n") : rest.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = rest.substr(0, end);
  const bool pair = rest[end] == '\r' && end + 1 < rest.size() && rest[end + 1] == '\n';
  rest.remove_prefix(end + (pair ? 2 : 1));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

inline std::string lowered_word(std::string_view text) {
  std::string word;
  for (const char c : text)
    if (std::isspace(static_cast<unsigned char>(c)) == 0)
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

inline bool take_chunks(std::string_view& rest, bool bare_cr, std::string& body) {
  for (;;) {
    const auto line = take_line(rest, bare_cr);
    if (!line) return false;
    const auto size = std::strtoull(std::string(*line).c_str(), nullptr, 16);
    if (size == 0) break;
    if (size > rest.size()) return false;
    body += rest.substr(0, size);
    rest.remove_prefix(size);
    if (!take_line(rest, bare_cr)) return false;
  }
  for (;;) {
    const auto line = take_line(rest, bare_cr);
    if (!line) return false;
    if (line->empty()) return true;
  }
}

}  // namespace lenient

/// The first request of `bytes`; nothing when it is incomplete.
inline std::optional<LenientReading> read_leniently(std::string_view bytes,
                                                    const LenientHabit& habit) {
  std::string_view rest = bytes;
  std::optional<std::size_t> length;
  bool chunked = false;
  for (;;) {
    const auto line = lenient::take_line(rest, habit.bare_cr_ends_line);
    if (!line) return std::nullopt;
    if (line->empty()) break;
    const std::size_t colon = std::min(line->find(':'), line->size());
    const std::string name = lenient::lowered_word(line->substr(0, colon));
    const std::string value(line->substr(std::min(colon + 1, line->size())));
    if (name == "content-length" && (!length || !habit.first_length_wins))
      length = std::strtoull(value.c_str(), nullptr, 10);
    if (name == "transfer-encoding")
      chunked = lenient::lowered_word(value).find("chunked") != std::string::npos;
  }

  LenientReading reading;
  if (chunked && (!length || !habit.length_wins)) {
    if (!lenient::take_chunks(rest, habit.bare_cr_ends_line, reading.body)) return std::nullopt;
  } else {
    if (length.value_or(0) > rest.size()) return std::nullopt;
    reading.body = rest.substr(0, length.value_or(0));
    rest.remove_prefix(reading.body.size());
  }
  reading.size = bytes.size() - rest.size();
  return reading;
}

}  // namespace celld::fuzz
