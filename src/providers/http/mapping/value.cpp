#include "src/providers/http/mapping/value.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace celld::providers::mappings {
namespace {

using Text = std::variant<std::string, Refusal>;

template <class Change>
std::string each_letter(std::string text, Change change) {
  std::transform(text.begin(), text.end(), text.begin(), change);
  return text;
}

char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

char to_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
}

std::string base64(const std::string& bytes) {
  // EVP_EncodeBlock() ends its output with a NUL.
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

Evaluated to_number(const std::string& text, const std::string& name) {
  const auto parsed = json::parse(text);
  const auto* document = std::get_if<json::Document>(&parsed);
  const bool is_number =
      document != nullptr && document->value.is_number() && document->number_faults.empty();
  if (!is_number) return Refusal{"`" + name + "` is not a number"};
  return Found{document->value};
}

Text joined(const json::Value& value, const std::string& separator, const std::string& name) {
  if (!value.is_array()) return Refusal{"`" + name + "` is not an array"};
  std::string all;
  for (std::size_t i = 0; i < value.size(); ++i) {
    auto text = text_of(value[i], name + "." + std::to_string(i));
    if (std::holds_alternative<Refusal>(text)) return text;
    if (i > 0) all += separator;
    all += std::get<std::string>(text);
  }
  return all;
}

Evaluated found(Text text) {
  if (auto* refusal = std::get_if<Refusal>(&text)) return std::move(*refusal);
  return Found{json::Value(std::get<std::string>(std::move(text)))};
}

/// The value after a filter that changes values.
Evaluated filtered(const Filter& filter, const json::Value& value, const std::string& name) {
  if (filter.kind == FilterKind::json) return Found{json::Value(json::dump(value))};
  if (filter.kind == FilterKind::join)
    return found(joined(value, filter.argument.get<std::string>(), name));
  Text text = text_of(value, name);
  if (std::holds_alternative<Refusal>(text)) return found(std::move(text));
  auto& content = std::get<std::string>(text);
  switch (filter.kind) {
    case FilterKind::number:
      return to_number(content, name);
    case FilterKind::lower:
      return found(each_letter(std::move(content), to_lower));
    case FilterKind::upper:
      return found(each_letter(std::move(content), to_upper));
    case FilterKind::base64:
      return found(base64(content));
    default:
      return found(std::move(text));
  }
}

const json::Value* find_value(const Expression& expression, const Scope& scope) {
  return expression.path.empty() ? &expression.constant : find(scope.document, expression.path);
}

/// The text to show in place of the value, if there is one.
std::optional<Shown> shown(const Expression& expression, const Scope& scope) {
  if (expression.is_secret() && scope.mask_secrets) return Shown{"***"};
  if (expression.path.size() < 2 || expression.path.front() != "properties") return std::nullopt;
  const auto stand_in = scope.stand_ins.find(expression.path[1]);
  if (stand_in != scope.stand_ins.end()) return Shown{stand_in->second};
  if (scope.expects_properties && !find(scope.document, expression.path)) return Shown{"PROPERTY"};
  return std::nullopt;
}

/// The whole object `properties`, with the texts that stand for some of them.
json::Value all_properties(const Scope& scope) {
  auto all = scope.document.value("properties", json::Value::object());
  for (const auto& [name, text] : scope.stand_ins) all[name] = text;
  return all;
}

}  // namespace

Evaluated evaluate(const Expression& expression, const Scope& scope) {
  if (auto text = shown(expression, scope)) return std::move(*text);
  std::optional<json::Value> value;
  if (expression.is_secret()) {
    value = scope.secrets.at(expression.path.at(1));
  } else if (const json::Value* there = find_value(expression, scope)) {
    const bool is_all = expression.path.size() == 1 && expression.path.front() == "properties";
    value = is_all ? all_properties(scope) : *there;
  }
  for (const auto& filter : expression.filters) {
    if (filter.kind == FilterKind::optional) continue;
    if (filter.kind == FilterKind::default_value) {
      if (!value || value->is_null()) value = filter.argument;
      continue;
    }
    if (!value || value->is_null()) continue;
    auto changed = filtered(filter, *value, expression.name);
    if (!std::holds_alternative<Found>(changed)) return changed;
    value = std::get<Found>(std::move(changed)).value;
  }
  if (!value) return Missing{};
  return Found{std::move(*value)};
}

std::variant<std::string, Refusal> text_of(const json::Value& value, const std::string& name) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return json::dump(value);
  const std::string what = value.is_null() ? "null" : value.is_array() ? "an array" : "an object";
  return Refusal{"`" + name + "` is " + what + ", not a string, a number or a boolean"};
}

Refusal missing(const Expression& expression) {
  return {"`" + expression.name + "` is missing"};
}

}  // namespace celld::providers::mappings
