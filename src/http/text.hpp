// Characters and short texts in HTTP messages (RFC 9110, section 5).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace celld::http {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

constexpr bool is_token_char(char c) {
  return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

inline bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

/// A field value may contain tabs, but no other control character.
constexpr bool is_field_char(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= 0x20 && byte != 0x7F);
}

inline bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_field_char);
}

inline std::string_view trimmed(std::string_view text) {
  const auto first = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

inline std::string lower_case(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), lower);
  return lowered;
}

inline bool equal_ignoring_case(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

/// Whether a comma-separated list, in lower case, contains `member`.
inline bool has_list_member(std::string_view list, std::string_view member) {
  while (!list.empty()) {
    const auto end = std::min(list.find(','), list.size());
    if (trimmed(list.substr(0, end)) == member) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace celld::http
