// Makes untrusted text safe for a terminal: nothing in it can move the cursor or falsify its width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace celld::cli {

/// `text` as one safe line. Line breaks and tabs become blanks; other control characters, invalid
/// UTF-8 and characters that change the text direction become replacement characters.
std::string cleaned(std::string_view text);

/// Columns that a cleaned text takes on a terminal: two for a wide character, none for a combining
/// one.
std::size_t width_of(std::string_view text);

/// A cleaned text, cut to `width` columns; "…" marks the cut.
std::string fitted(std::string_view text, std::size_t width);

/// The same JSON document, with unsafe characters other than line feeds as \u escapes.
std::string json_for_terminal(std::string_view document);

}  // namespace celld::cli
