// Giving memory back: a string that is assigned a short one keeps the memory that it had.
#pragma once

#include <string>

namespace celld::http {

/// Makes `text` what `rest` is, and frees what it was.
inline void replace_freeing(std::string& text, std::string rest) {
  text.swap(rest);
}

/// Empties `text` and frees its memory.
inline void release(std::string& text) {
  replace_freeing(text, {});
}

}  // namespace celld::http
