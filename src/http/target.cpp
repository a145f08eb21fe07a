#include "src/http/target.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace celld::http {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The byte encoded by the escape at `at`; nothing when the escape is malformed.
std::optional<char> escaped_byte(std::string_view text, std::size_t at) {
  if (text.size() - at < 3) return std::nullopt;
  const int high = hex_value(text[at + 1]);
  const int low = hex_value(text[at + 2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high << 4 | low);
}

/// Decodes each %XX; `append` adds the byte to the decoded text.
template <typename Append>
std::optional<std::string> decode_escapes(std::string_view encoded, const Append& append) {
  std::string decoded;
  decoded.reserve(encoded.size());
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      decoded += encoded[i];
      continue;
    }
    const auto byte = escaped_byte(encoded, i);
    if (!byte) return std::nullopt;
    append(decoded, *byte);
    i += 2;
  }
  return decoded;
}

std::optional<std::string> decode_for_routing(std::string_view encoded) {
  return decode_escapes(encoded, [](std::string& decoded, char byte) {
    if (byte == '/') {
      decoded += "%2F";
    } else if (byte == '%') {
      decoded += "%25";
    } else {
      decoded += byte;
    }
  });
}

constexpr std::size_t path_bytes_max = 2048;  // Longer than the path of any endpoint.
constexpr const char* broken_escape =
    "The request target has a `%` without two hexadecimal digits after it.";

std::optional<std::string> decode_query_part(std::string_view encoded) {
  std::string spaced(encoded);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return percent_decode(spaced);
}

/// Returns an error text, which is empty on success.
std::string parse_query(std::string_view text,
                        std::vector<std::pair<std::string, std::string>>& query) {
  while (!text.empty()) {
    const auto end = std::min(text.find('&'), text.size());
    const auto item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (item.empty()) continue;
    const auto equals = std::min(item.find('='), item.size());
    auto key = decode_query_part(item.substr(0, equals));
    auto value = decode_query_part(item.substr(std::min(equals + 1, item.size())));
    if (!key || !value) return broken_escape;
    if (!is_text(*key) || !is_text(*value)) return "The query is not UTF-8 or contains a NUL.";
    query.emplace_back(std::move(*key), std::move(*value));
  }
  return "";
}

/// The length of the well-formed UTF-8 sequence at the start of `bytes`; 0 when there is none.
/// The ranges are those of table 3-7 of the Unicode standard.
std::size_t sequence_length(std::string_view bytes) {
  struct Row {
    std::uint8_t first_min, first_max, second_min, second_max;
    std::size_t length;
  };
  static constexpr std::array<Row, 8> rows{{{0xC2, 0xDF, 0x80, 0xBF, 2},
                                            {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                            {0xE1, 0xEC, 0x80, 0xBF, 3},
                                            {0xED, 0xED, 0x80, 0x9F, 3},
                                            {0xEE, 0xEF, 0x80, 0xBF, 3},
                                            {0xF0, 0xF0, 0x90, 0xBF, 4},
                                            {0xF1, 0xF3, 0x80, 0xBF, 4},
                                            {0xF4, 0xF4, 0x80, 0x8F, 4}}};
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  for (const auto& row : rows) {
    if (byte(0) < row.first_min || byte(0) > row.first_max) continue;
    if (bytes.size() < row.length || byte(1) < row.second_min || byte(1) > row.second_max) return 0;
    for (std::size_t i = 2; i < row.length; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return 0;
    }
    return row.length;
  }
  return 0;
}

}  // namespace

bool is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto first = static_cast<std::uint8_t>(bytes.front());
    const std::size_t length = first == 0 ? 0 : first < 0x80 ? 1 : sequence_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::optional<std::string> percent_decode(std::string_view encoded) {
  return decode_escapes(encoded, [](std::string& decoded, char byte) { decoded += byte; });
}

std::variant<Target, std::string> parse_target(std::string_view target) {
  if (target.empty() || target.front() != '/') return "The request target is not a path.";
  const auto is_raw = [](char c) { return c <= ' ' || c >= 0x7F || c == '#'; };
  if (std::any_of(target.begin(), target.end(), is_raw))
    return "The request target has a character that must be percent-encoded.";
  const auto path_end = std::min(target.find('?'), target.size());
  const auto raw_path = target.substr(0, path_end);
  auto match_path = decode_for_routing(raw_path);
  auto path = percent_decode(raw_path);
  if (!match_path || !path) return broken_escape;

  Target parsed;
  if (raw_path.size() <= path_bytes_max && is_text(*path)) {
    parsed.path = std::move(*path);
    parsed.match_path = std::move(*match_path);
  }
  const auto raw_query = target.substr(std::min(path_end + 1, target.size()));
  if (auto wrong = parse_query(raw_query, parsed.query); !wrong.empty()) return wrong;
  return parsed;
}

}  // namespace celld::http
