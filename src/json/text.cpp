// Writing: compact text, quoted strings and pointers.
#include <algorithm>

#include "src/json/json.hpp"

namespace celld::json {

std::string dump(const Value& value) {
  return value.dump(-1, ' ', false, Value::error_handler_t::replace);
}

void append_quoted(std::string& out, std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
  });
  if (plain) {
    out += '"';
    out += text;
    out += '"';
  } else {
    out += dump(Value(text));
  }
}

std::string quote(std::string_view text) {
  std::string quoted;
  append_quoted(quoted, text);
  return quoted;
}

std::string pointer_to(std::string_view base, std::string_view name) {
  std::string pointer;
  pointer.reserve(base.size() + 1 + name.size());
  pointer += base;
  pointer += '/';
  for (const char c : name) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

std::string pointer_to(std::string_view base, std::size_t index) {
  return pointer_to(base, std::to_string(index));
}

}  // namespace celld::json
