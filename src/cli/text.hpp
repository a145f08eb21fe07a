// Text of others on its way to a terminal: nothing in it may move the cursor or lie about its
// width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace celld::cli {

/// `text` as one line that a terminal only shows: blanks for line breaks and tabs; a replacement
/// character for every control character, invalid UTF-8, and what turns the direction of writing.
std::string cleaned(std::string_view text);

/// Columns that a cleaned text takes on a terminal: two for a wide character, none for an accent.
std::size_t width_of(std::string_view text);

/// The front of a cleaned text that fits into `width` columns, with "…" where something is missing.
std::string fitted(std::string_view text, std::size_t width);

/// The same JSON document, with every character that `cleaned` would replace as an escape.
std::string json_for_terminal(std::string_view document);

}  // namespace celld::cli
