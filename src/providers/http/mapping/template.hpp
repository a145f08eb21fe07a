// Templates: text with expressions in double braces, such as `/zones/{{entity.id}}`.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/json/json.hpp"
#include "src/providers/http/mapping/path.hpp"

namespace celld::providers::mappings {

/// What an expression does with its value, in the order in which its filters are written.
/// docs/mappings.md describes each.
enum class FilterKind : std::uint8_t {
  default_value,  ///< `default 300`: instead of a value that is missing or null.
  optional,       ///< If the value is missing, leaves out its member, parameter or header.
  string,         ///< A number or a boolean as text.
  number,         ///< A text that is a number, as that number.
  json,           ///< Any value as JSON text.
  lower,          ///< Lower-case ASCII letters.
  upper,
  base64,
  join,  ///< `join ','`: the elements of an array as one text.
};

struct Filter {
  FilterKind kind;
  json::Value argument;  ///< Null for a filter that has none.
};

/// A value of the job's document, a secret or a constant.
struct Expression {
  Path path;             ///< From the root of the document; empty for a constant.
  json::Value constant;  ///< A text.
  std::vector<Filter> filters;
  std::string name;  ///< The path or the constant as it is written.

  bool has(FilterKind kind) const;
  bool is_secret() const { return !path.empty() && path.front() == "secrets"; }
};

/// Literal text, or an expression.
using Part = std::variant<std::string, Expression>;

struct Template {
  std::vector<Part> parts;  ///< No two neighbours are literal text.

  /// The expression that is the whole template; null unless the template is exactly one expression.
  const Expression* whole() const;
};

/// Parses `text`. The string is a fault that continues the name of the value.
std::variant<Template, std::string> parse_template(std::string_view text);

/// Whether the text has an expression, well-formed or not.
bool has_braces(std::string_view text);

/// What is wrong with the name in `expression`; empty if the job's document may have such a value.
std::string name_fault(const Expression& expression, const std::set<std::string>& secrets);

/// What is wrong with the filters in `expression`; empty if they fit at least some values that it
/// can have.
std::string filter_fault(const Expression& expression);

/// Whether the value is always an object, which has no text.
bool is_object(const Expression& expression);

}  // namespace celld::providers::mappings
