// Values of templates as text: escaped for the part of a request they are in, or refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "src/providers/http/mapping/value.hpp"

namespace celld::providers::mappings {

/// The part of a request that a value is in.
enum class EscapeContext : std::uint8_t {
  path,    ///< Within one segment of the URL's path.
  query,   ///< The value of a parameter, in the URL's query or in a form.
  header,  ///< The value of a header.
  json,    ///< Within a JSON string. JSON's own escapes are left to the writer of the document.
};

/// `text` escaped for its context. Refuses a text that the context cannot hold: control characters
/// in a path or a header; `.` and `..` as parts of a path, also behind a slash or a backslash,
/// because a server may decode the path before it resolves it.
std::variant<std::string, Refusal> escape(EscapeContext context, const std::string& text,
                                          const std::string& name);

/// Whether `.` or `..` stands alone, or between slashes or backslashes, once the text is
/// percent-decoded.
bool has_dot_part(std::string_view encoded);

/// All but letters, digits and `-._~` as %XX.
std::string percent_encode(std::string_view text);

/// The text of a template in its context. Nothing if it is to be left out: its only expression is
/// `optional`, and there is no value.
std::variant<std::optional<std::string>, Refusal> render_text(const Template& text,
                                                              EscapeContext context,
                                                              const Scope& scope);

}  // namespace celld::providers::mappings
