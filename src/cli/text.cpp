#include "src/cli/text.hpp"

#include <array>
#include <clocale>
#include <cstdio>
#include <cwchar>

namespace celld::cli {
namespace {

constexpr char32_t replacement = U'\uFFFD';

struct Character {
  char32_t code = replacement;
  std::size_t bytes = 1;
  bool valid = false;
};

/// The smallest code point that a sequence of this many bytes may encode.
constexpr std::array<char32_t, 5> least_code = {0, 0, 0x80, 0x800, 0x10000};

std::size_t length_of_sequence(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

/// The first character of a text that is not empty; an invalid byte counts as one character.
Character first_of(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = length_of_sequence(first);
  if (bytes == 0 || bytes > text.size()) return {};
  char32_t code = bytes == 1 ? first : first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0U) != 0x80) return {};
    code = (code << 6) | (next & 0x3FU);
  }
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if (code < least_code[bytes] || code > 0x10FFFF || surrogate) return {};
  return {code, bytes, true};
}

bool is_harmful(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) ||  // C0, DEL, C1
         (code >= 0x2028 && code <= 0x202E) ||            // line ends, text direction
         (code >= 0x2066 && code <= 0x2069) || code == 0x200E || code == 0x200F || code == 0x061C;
}

/// The width of a printable character, from the C library's UTF-8 locale; 1 without that locale.
std::size_t columns_of(char32_t code) {
  static const bool has_utf8 = std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;
  const int columns = has_utf8 ? ::wcwidth(static_cast<wchar_t>(code)) : 1;
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

/// Calls `each(character, its bytes)` until it returns false.
template <class Each>
void for_each_character(std::string_view text, Each each) {
  while (!text.empty()) {
    const Character character = first_of(text);
    if (!each(character, text.substr(0, character.bytes))) return;
    text.remove_prefix(character.bytes);
  }
}

}  // namespace

std::string cleaned(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for_each_character(text, [&](const Character& character, std::string_view bytes) {
    if (character.code == '\n' || character.code == '\t' || character.code == '\r') {
      clean += ' ';
    } else if (!character.valid || is_harmful(character.code)) {
      clean += "\xEF\xBF\xBD";
    } else {
      clean += bytes;
    }
    return true;
  });
  return clean;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for_each_character(text, [&](const Character& character, std::string_view) {
    width += columns_of(character.code);
    return true;
  });
  return width;
}

std::string fitted(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::string front;
  std::size_t used = 1;  // The ellipsis.
  for_each_character(text, [&](const Character& character, std::string_view bytes) {
    used += columns_of(character.code);
    if (used > width) return false;
    front += bytes;
    return true;
  });
  return front + "…";
}

std::string json_for_terminal(std::string_view document) {
  std::string safe;
  safe.reserve(document.size());
  for_each_character(document, [&](const Character& character, std::string_view bytes) {
    if (character.valid && (!is_harmful(character.code) || character.code == '\n')) {
      safe += bytes;
    } else {
      std::array<char, 8> escape{};
      const int length = std::snprintf(escape.data(), escape.size(), "\\u%04x",
                                       static_cast<unsigned>(character.code));
      safe.append(escape.data(), static_cast<std::size_t>(length));
    }
    return true;
  });
  return safe;
}

}  // namespace celld::cli
