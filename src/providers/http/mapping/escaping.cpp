#include "src/providers/http/mapping/escaping.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

namespace celld::providers::mappings {
namespace {

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

bool has_control(std::string_view text, bool tab_allowed) {
  return std::any_of(text.begin(), text.end(), [&](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && !(tab_allowed && c == '\t')) || c == 0x7F;
  });
}

/// Leaves what is not well-formed as it is.
std::string percent_decode(std::string_view encoded) {
  std::string text;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    const auto digits = encoded.substr(i + 1, 2);
    unsigned char byte{};
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    const bool escape = encoded[i] == '%' && read.ptr == digits.data() + 2;
    text += escape ? static_cast<char>(byte) : encoded[i];
    if (escape) i += digits.size();
  }
  return text;
}

/// The text of one expression in its context; nothing if it is missing and optional.
std::variant<std::optional<std::string>, Refusal> render(const Expression& expression,
                                                         EscapeContext context,
                                                         const Scope& scope) {
  auto evaluated = evaluate(expression, scope);
  if (auto* shown = std::get_if<Shown>(&evaluated)) return std::optional(std::move(shown->text));
  if (auto* refusal = std::get_if<Refusal>(&evaluated)) return std::move(*refusal);
  const auto* found = std::get_if<Found>(&evaluated);
  if (expression.has(FilterKind::optional) && (found == nullptr || found->value.is_null()))
    return std::nullopt;
  if (found == nullptr) return missing(expression);
  auto text = text_of(found->value, expression.name);
  if (!std::holds_alternative<Refusal>(text))
    text = escape(context, std::get<std::string>(text), expression.name);
  if (auto* refusal = std::get_if<Refusal>(&text)) return std::move(*refusal);
  return std::optional(std::get<std::string>(std::move(text)));
}

}  // namespace

std::variant<std::string, Refusal> escape(EscapeContext context, const std::string& text,
                                          const std::string& name) {
  switch (context) {
    case EscapeContext::path:
      if (has_dot_part(percent_encode(text)))
        return Refusal{"`" + name + "` has `.` or `..` as part of a path"};
      if (has_control(text, false)) return Refusal{"`" + name + "` has a control character"};
      return percent_encode(text);
    case EscapeContext::query:
      return percent_encode(text);
    case EscapeContext::header:
      if (has_control(text, true)) return Refusal{"`" + name + "` has a control character"};
      return text;
    case EscapeContext::json:
      break;
  }
  return text;
}

bool has_dot_part(std::string_view encoded) {
  const std::string text = percent_decode(encoded);
  for (std::string_view rest = text;;) {
    const auto end = rest.find_first_of("/\\");
    const auto part = rest.substr(0, end);
    if (part == "." || part == "..") return true;
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
  }
}

std::string percent_encode(std::string_view text) {
  static constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += digits[byte >> 4];
    encoded += digits[byte & 0x0F];
  }
  return encoded;
}

std::variant<std::optional<std::string>, Refusal> render_text(const Template& text,
                                                              EscapeContext context,
                                                              const Scope& scope) {
  std::string all;
  for (const auto& part : text.parts) {
    if (const auto* literal = std::get_if<std::string>(&part)) {
      all += *literal;
      continue;
    }
    auto rendered = render(std::get<Expression>(part), context, scope);
    if (std::holds_alternative<Refusal>(rendered)) return rendered;
    auto& value = std::get<std::optional<std::string>>(rendered);
    if (!value) return std::nullopt;
    all += *value;
  }
  return std::optional(std::move(all));
}

}  // namespace celld::providers::mappings
