#include "src/providers/http/mapping/path.hpp"

#include <charconv>
#include <cstddef>

namespace celld::providers::mappings {
namespace {

/// The name that a part of a pointer stands for; nothing if a `~` escapes nothing.
std::optional<std::string> unescape(std::string_view part) {
  std::string name;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '~') {
      name += part[i];
      continue;
    }
    if (++i == part.size() || (part[i] != '0' && part[i] != '1')) return std::nullopt;
    name += part[i] == '0' ? '~' : '/';
  }
  return name;
}

const json::Value* element(const json::Value& array, std::string_view index) {
  std::size_t position = 0;
  const char* end = index.data() + index.size();
  const auto [stop, error] = std::from_chars(index.data(), end, position);
  const bool leading_zero = index.size() > 1 && index.front() == '0';
  if (error != std::errc() || stop != end || leading_zero) return nullptr;
  return position < array.size() ? &array[position] : nullptr;
}

}  // namespace

std::optional<Path> parse_pointer(std::string_view text) {
  Path path;
  while (!text.empty()) {
    if (text.front() != '/') return std::nullopt;
    text.remove_prefix(1);
    const auto part = text.substr(0, text.find('/'));
    auto name = unescape(part);
    if (!name) return std::nullopt;
    path.push_back(std::move(*name));
    text.remove_prefix(part.size());
  }
  return path;
}

std::string pointer_of(const Path& path) {
  std::string pointer;
  for (const auto& name : path) pointer = json::pointer_to(pointer, name);
  return pointer;
}

const json::Value* find(const json::Value& document, const Path& path) {
  const json::Value* value = &document;
  for (const auto& name : path) {
    if (value->is_array()) {
      value = element(*value, name);
      if (value == nullptr) return nullptr;
      continue;
    }
    if (!value->is_object()) return nullptr;
    const auto member = value->find(name);
    if (member == value->end()) return nullptr;
    value = &*member;
  }
  return value;
}

}  // namespace celld::providers::mappings
