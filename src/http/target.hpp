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

/// Decodes each %XX; nothing when an escape is broken.
std::optional<std::string> percent_decode(std::string_view encoded);

struct Target {
  /// Decoded; empty when nothing can be there: it is no text, or longer than any path that is.
  std::string path;
  /// Decoded too, except that an escaped slash or percent sign stays `%2F` or `%25`: its slashes
  /// are exactly the ones that separate segments. percent_decode of a segment gives its value.
  std::string match_path;
  std::vector<std::pair<std::string, std::string>> query;  ///< Decoded, `+` as a space, in order.
};

/// What is wrong, when `target` is not a path with an optional query, an escape is broken, or the
/// query is no text.
std::variant<Target, std::string> parse_target(std::string_view target);

}  // namespace celld::http
