#include "src/providers/http/mapping/template.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace celld::providers::mappings {
namespace {

constexpr std::string_view opening = "{{";
constexpr std::string_view closing = "}}";

struct FilterRow {
  std::string_view name;
  FilterKind kind;
  enum class Argument : std::uint8_t { none, text, scalar } argument;
};
using Argument = FilterRow::Argument;

constexpr std::array<FilterRow, 9> filter_rows = {{
    {"default", FilterKind::default_value, Argument::scalar},
    {"optional", FilterKind::optional, Argument::none},
    {"string", FilterKind::string, Argument::none},
    {"number", FilterKind::number, Argument::none},
    {"json", FilterKind::json, Argument::none},
    {"lower", FilterKind::lower, Argument::none},
    {"upper", FilterKind::upper, Argument::none},
    {"base64", FilterKind::base64, Argument::none},
    {"join", FilterKind::join, Argument::text},
}};

std::string filter_names() {
  std::string names;
  for (const auto& row : filter_rows) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '+';
}

/// Reads an expression, from after its opening braces up to and including its closing braces.
class ExpressionReader {
 public:
  explicit ExpressionReader(std::string_view text) : rest_(text) {}

  /// Nothing after a fault.
  std::optional<Expression> read() {
    Expression expression;
    if (!read_operand(expression)) return std::nullopt;
    for (;;) {
      skip_blanks();
      if (take(closing)) return expression;
      if (rest_.empty()) return refuse("has `{{` without `}}`");
      if (!take("|")) return refuse("must have `|` or `}}` " + here());
      auto filter = read_filter();
      if (!filter) return std::nullopt;
      expression.filters.push_back(std::move(*filter));
    }
  }

  std::string_view rest() const { return rest_; }
  const std::string& fault() const { return fault_; }

 private:
  bool read_operand(Expression& expression) {
    skip_blanks();
    if (rest_.starts_with('\'')) {
      const auto start = rest_;
      auto text = read_text();
      if (!text) return false;
      expression.constant = std::move(*text);
      expression.name = start.substr(0, start.size() - rest_.size());
      return true;
    }
    const bool is_pointer = rest_.starts_with('/');
    expression.name = is_pointer ? read_pointer() : read_word();
    auto path = is_pointer ? parse_pointer(expression.name) : split(expression.name);
    if (!path) {
      refuse(expression.name.empty() ? "must have a name " + here()
                                     : "has the malformed name `" + expression.name + "`");
      return false;
    }
    expression.path = std::move(*path);
    return true;
  }

  std::optional<Filter> read_filter() {
    skip_blanks();
    const std::string name = read_word();
    const auto row = std::find_if(filter_rows.begin(), filter_rows.end(),
                                  [&](const FilterRow& each) { return each.name == name; });
    if (row == filter_rows.end()) {
      refuse("has an unknown filter " + (name.empty() ? here() : "`" + name + "`") +
             "; the filters are " + filter_names());
      return std::nullopt;
    }
    Filter filter{row->kind, nullptr};
    if (row->argument == Argument::none) return filter;
    skip_blanks();
    auto argument = rest_.starts_with('\'') ? read_text() : read_scalar(*row);
    if (!argument) return std::nullopt;
    filter.argument = std::move(*argument);
    return filter;
  }

  /// Text in single quotes; a backslash precedes a quote or a backslash in it.
  std::optional<json::Value> read_text() {
    std::string text;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '\'') {
        rest_.remove_prefix(i + 1);
        return json::Value(std::move(text));
      }
      if (rest_[i] == '\\' && ++i == rest_.size()) break;
      text += rest_[i];
    }
    refuse("has a string without its closing quote");
    return std::nullopt;
  }

  std::optional<json::Value> read_scalar(const FilterRow& row) {
    const std::string word = read_word();
    const auto parsed = json::parse(word);
    const auto* document = std::get_if<json::Document>(&parsed);
    const bool valid = document != nullptr && document->value.is_primitive() &&
                       document->number_faults.empty() && row.argument == Argument::scalar;
    if (valid) return document->value;
    refuse("must have " +
           std::string(row.argument == Argument::text
                           ? "a string in single quotes"
                           : "a number, true, false, null or a string in "
                             "single quotes") +
           " after `" + std::string(row.name) + "`");
    return std::nullopt;
  }

  std::string read_word() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_word);
    return read_to(static_cast<std::size_t>(end - rest_.begin()));
  }

  std::string read_pointer() {
    std::size_t end = 0;
    while (end < rest_.size() && rest_[end] != '|' && !rest_.substr(end).starts_with(closing)) {
      ++end;
    }
    while (end > 0 && is_blank(rest_[end - 1])) --end;
    return read_to(end);
  }

  std::string read_to(std::size_t end) {
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return text;
  }

  /// Nothing if a name is empty.
  static std::optional<Path> split(std::string_view dotted) {
    Path path;
    for (;;) {
      const auto dot = dotted.find('.');
      if (dotted.empty() || dot == 0) return std::nullopt;
      path.emplace_back(dotted.substr(0, dot));
      if (dot == std::string_view::npos) return path;
      dotted.remove_prefix(dot + 1);
    }
  }

  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }

  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  std::string here() const {
    constexpr std::size_t shown_bytes = 1;
    if (rest_.empty()) return "at its end";
    const auto c = static_cast<unsigned char>(rest_.front());
    if (c < 0x20 || c >= 0x7F) return "in an expression";
    return "before `" + std::string(rest_.substr(0, shown_bytes)) + "`";
  }

  std::nullopt_t refuse(std::string fault) {
    fault_ = std::move(fault);
    return std::nullopt;
  }

  std::string_view rest_;
  std::string fault_;
};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether the value at `path` is always an object.
bool names_object(const Path& path) {
  return path.size() == 1 && is_one_of(path.front(), {"entity", "parameters", "properties"});
}

}  // namespace

bool Expression::has(FilterKind kind) const {
  return std::any_of(filters.begin(), filters.end(),
                     [&](const Filter& filter) { return filter.kind == kind; });
}

const Expression* Template::whole() const {
  return parts.size() == 1 ? std::get_if<Expression>(&parts.front()) : nullptr;
}

std::variant<Template, std::string> parse_template(std::string_view text) {
  Template parsed;
  while (!text.empty()) {
    const auto literal = text.substr(0, text.find(opening));
    if (!literal.empty()) parsed.parts.emplace_back(std::string(literal));
    text.remove_prefix(literal.size());
    if (text.empty()) break;
    ExpressionReader reader(text.substr(opening.size()));
    auto expression = reader.read();
    if (!expression) return reader.fault();
    parsed.parts.emplace_back(std::move(*expression));
    text = reader.rest();
  }
  return parsed;
}

bool has_braces(std::string_view text) {
  return text.find(opening) != std::string_view::npos;
}

std::string name_fault(const Expression& expression, const std::set<std::string>& secrets) {
  const Path& path = expression.path;
  if (path.empty()) return "";  // A constant.
  const std::string& root = path.front();
  if (is_one_of(root, {"parameters", "properties"})) return "";
  if (root == "secrets") {
    if (path.size() == 2 && secrets.contains(path[1])) return "";
    return "has the unknown secret `" + expression.name +
           "`: `secrets` of the mapping has none of "
           "this name";
  }
  const bool known =
      root == "entity"
          ? path.size() == 1 || (path.size() == 2 && is_one_of(path[1], {"type", "subtype", "id"}))
          : path.size() == 1 &&
                is_one_of(root, {"job", "attempt", "customer", "product", "action", "service"});
  if (known) return "";
  return "has the unknown name `" + expression.name +
         "`; names begin with job, attempt, customer, product, action, entity.type, "
         "entity.subtype, entity.id, service, parameters, properties or secrets";
}

std::string filter_fault(const Expression& expression) {
  const bool is_whole_object = names_object(expression.path);
  const bool can_be_array =
      !expression.path.empty() && is_one_of(expression.path.front(), {"parameters", "properties"});
  for (const auto& filter : expression.filters) {
    if (filter.kind == FilterKind::json) return "";  // A text from here on.
    const bool changes_nothing =
        filter.kind == FilterKind::default_value || filter.kind == FilterKind::optional;
    if (is_whole_object && !changes_nothing)
      return "has the object `" + expression.name + "`, to which only the filter json applies";
    if (filter.kind == FilterKind::join && !can_be_array)
      return "applies the filter join to `" + expression.name + "`, which is never an array";
  }
  return "";
}

bool is_object(const Expression& expression) {
  return names_object(expression.path) && !expression.has(FilterKind::json);
}

}  // namespace celld::providers::mappings
