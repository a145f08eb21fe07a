// Frees a string's memory, which assigning a shorter string does not.
#pragma once

#include <string>

namespace celld::http {

/// Replaces `text` by `rest` and frees its old memory.
inline void replace_freeing(std::string& text, std::string rest) {
  text.swap(rest);
}

/// Empties `text` and frees its memory.
inline void release(std::string& text) {
  replace_freeing(text, {});
}

}  // namespace celld::http
