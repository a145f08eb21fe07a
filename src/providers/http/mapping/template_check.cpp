#include "src/providers/http/mapping/template_check.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace celld::providers::mappings {
namespace {

const char* name_of(EscapeContext context) {
  switch (context) {
    case EscapeContext::path:
      return "a path";
    case EscapeContext::query:
      return "a query or a form";
    case EscapeContext::header:
      return "a header";
    case EscapeContext::json:
      break;
  }
  return "a text";
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}

/// What is wrong with literal text of a path; empty if nothing is.
std::string path_text_fault(std::string_view text) {
  static constexpr std::string_view marks = "-._~!$&'()*+,;=:@/%";
  if (text.find('?') != std::string_view::npos) return "must not have a query: put it into `query`";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && marks.find(c) == std::string_view::npos)
      return "must percent-encode everything but letters, digits and -._~!$&'()*+,;=:@";
    if (c != '%') continue;
    if (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2]))
      return "must have two hexadecimal digits after each %";
  }
  return "";
}

/// The text of a segment without an expression; nothing if it has one.
std::optional<std::string> literal_of(const Template& segment) {
  if (segment.parts.empty()) return "";
  if (segment.parts.size() > 1 || segment.whole() != nullptr) return std::nullopt;
  return std::get<std::string>(segment.parts.front());
}

/// Splits at each slash of the literal text. `path` begins with one.
std::vector<Template> split(Template path) {
  std::vector<Template> segments;
  for (auto& part : path.parts) {
    const auto* literal = std::get_if<std::string>(&part);
    if (literal == nullptr) {
      segments.back().parts.push_back(std::move(part));
      continue;
    }
    for (std::string_view rest = *literal; !rest.empty();) {
      if (rest.front() == '/') {
        segments.emplace_back();
        rest.remove_prefix(1);
        continue;
      }
      const auto text = rest.substr(0, rest.find('/'));
      segments.back().parts.emplace_back(std::string(text));
      rest.remove_prefix(text.size());
    }
  }
  return segments;
}

std::string segments_fault(const std::vector<Template>& segments) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto literal = literal_of(segments[i]);
    if (!literal) continue;
    if (has_dot_part(*literal)) return "must not have the segment `" + *literal + "`";
    if (literal->empty() && i + 1 < segments.size()) return "must not have an empty segment";
  }
  return "";
}

bool has_templates(const json::Value& value) {
  if (value.is_string()) return has_braces(value.get_ref<const std::string&>());
  if (!value.is_structured()) return false;
  for (const auto& [name, member] : value.items()) {
    if (has_templates(member) || (value.is_object() && has_braces(name))) return true;
  }
  return false;
}

}  // namespace

TemplateReader::TemplateReader(const config::NamedSecrets& secrets, Faults& faults)
    : faults_(faults) {
  scope_.secrets = values_of(secrets);
  for (const auto& [name, secret] : secrets) names_.insert(name);
}

std::optional<Template> TemplateReader::read(const std::string& text, const std::string& pointer,
                                             EscapeContext context) {
  auto parsed = parse_template(text);
  if (auto* fault = std::get_if<std::string>(&parsed)) {
    refuse(pointer, std::move(*fault));
    return std::nullopt;
  }
  auto& result = std::get<Template>(parsed);
  bool valid = true;
  for (auto& part : result.parts) {
    if (const auto* expression = std::get_if<Expression>(&part)) {
      valid = check(*expression, result.whole() != nullptr, pointer, context) && valid;
    } else if (auto& literal = std::get<std::string>(part); context == EscapeContext::query) {
      literal = percent_encode(literal);
    }
  }
  return valid ? std::optional(std::move(result)) : std::nullopt;
}

std::vector<Template> TemplateReader::read_path(const std::string& text,
                                                const std::string& pointer) {
  if (text.empty()) return {};
  auto path = read(text, pointer, EscapeContext::path);
  if (!path) return {};
  std::string fault = text.front() == '/' ? "" : "must begin with /";
  for (const auto& part : path->parts) {
    const auto* literal = std::get_if<std::string>(&part);
    if (literal != nullptr && fault.empty()) fault = path_text_fault(*literal);
  }
  std::vector<Template> segments;
  if (fault.empty()) {
    segments = split(std::move(*path));
    fault = segments_fault(segments);
    if (fault.empty()) fault = defaults_fault(segments);
  }
  if (!fault.empty()) refuse(pointer, std::move(fault));
  return segments;
}

/// If a segment has a text without a job, that text must be valid in the path.
std::string TemplateReader::defaults_fault(const std::vector<Template>& segments) const {
  for (const auto& segment : segments) {
    if (literal_of(segment)) continue;
    const auto rendered = render_text(segment, EscapeContext::path, scope_);
    const auto* text = std::get_if<std::optional<std::string>>(&rendered);
    if (text == nullptr || !*text || !(text->value().empty() || has_dot_part(text->value())))
      continue;
    const std::string what = text->value().empty() ? "an empty segment" : "the segment `.` or `..`";
    return "would have " + what + " where values are missing";
  }
  return "";
}

Body TemplateReader::read_body(const json::Value& value, const std::string& pointer) {
  if (!has_templates(value)) return {value};
  if (value.is_string()) {
    return {read(value.get<std::string>(), pointer, EscapeContext::json).value_or(Template{})};
  }
  if (value.is_array()) {
    Body::Array array;
    for (std::size_t i = 0; i < value.size(); ++i)
      array.elements.push_back(read_body(value[i], json::pointer_to(pointer, i)));
    return {std::make_shared<const Body::Array>(std::move(array))};
  }
  Body::Object object;
  for (const auto& [name, member] : value.items()) {
    const auto at = json::pointer_to(pointer, name);
    if (has_braces(name)) refuse(at, "must not have a template in its name");
    object.members.emplace_back(name, read_body(member, at));
  }
  return {std::make_shared<const Body::Object>(std::move(object))};
}

bool TemplateReader::check(const Expression& expression, bool is_whole, const std::string& pointer,
                           EscapeContext context) {
  if (auto fault = name_fault(expression, names_); !fault.empty())
    return refuse(pointer, std::move(fault));
  if (expression.has(FilterKind::optional) && context == EscapeContext::path)
    return refuse(pointer, "cannot leave out a part of a path: `optional` cannot stand here");
  if (expression.has(FilterKind::optional) && !is_whole)
    return refuse(pointer, "must be a single expression if that is `optional`");
  if (auto fault = filter_fault(expression); !fault.empty())
    return refuse(pointer, std::move(fault));
  const bool keeps_json = context == EscapeContext::json && is_whole;
  if (is_object(expression) && !keeps_json)
    return refuse(pointer, "has the object `" + expression.name + "`, which cannot stand in " +
                               name_of(context));
  return check_without_job(expression, keeps_json, pointer, context);
}

/// Checks the values that do not depend on a job: secrets, constants and defaults.
bool TemplateReader::check_without_job(const Expression& expression, bool keeps_json,
                                       const std::string& pointer, EscapeContext context) {
  auto evaluated = evaluate(expression, scope_);
  if (const auto* refusal = std::get_if<Refusal>(&evaluated))
    return refuse(pointer, "cannot be made: " + refusal->text);
  const auto* found = std::get_if<Found>(&evaluated);
  if (found == nullptr) return true;  // The job decides.
  const bool may_be_null = keeps_json || expression.has(FilterKind::optional);
  if (found->value.is_null() && may_be_null) return true;
  auto text = text_of(found->value, expression.name);
  if (!std::holds_alternative<Refusal>(text)) {
    if (expression.is_secret()) derived_.insert(std::get<std::string>(text));
    text = escape(context, std::get<std::string>(text), expression.name);
  }
  if (const auto* refusal = std::get_if<Refusal>(&text))
    return refuse(pointer, "cannot be made: " + refusal->text);
  if (expression.is_secret()) derive(std::get<std::string>(text), context);
  return true;
}

/// Notes a form in which a provider may repeat a secret. It may also quote a body as a JSON string.
void TemplateReader::derive(const std::string& escaped, EscapeContext context) {
  derived_.insert(escaped);
  if (context != EscapeContext::json) return;
  const std::string quoted = json::quote(escaped);
  derived_.insert(quoted.substr(1, quoted.size() - 2));
}

bool TemplateReader::refuse(const std::string& pointer, std::string detail) {
  faults_.push_back({pointer, std::move(detail)});
  return false;
}

}  // namespace celld::providers::mappings
