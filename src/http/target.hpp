// The target of a request: its path and query, percent-decoded and checked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace celld::http {

/// Valid UTF-8 without a NUL.
bool is_text(std::string_view bytes);

/// Decodes each %XX; nothing when an escape is malformed.
std::optional<std::string> percent_decode(std::string_view encoded);

struct Target {
  /// Decoded. Empty when no endpoint can match: the path is not text, or too long.
  std::string path;
  /// Decoded too, except that escaped slashes and percent signs stay `%2F` and `%25`, so that every
  /// slash separates segments. percent_decode of a segment gives its value.
  std::string match_path;
  std::vector<std::pair<std::string, std::string>> query;  ///< Decoded, `+` as a space, in order.
};

/// Returns an error text when `target` is not a path with an optional query, an escape is
/// malformed, or the query is not text.
std::variant<Target, std::string> parse_target(std::string_view target);

}  // namespace celld::http
