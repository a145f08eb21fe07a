#include "src/providers/http/mapping/request.hpp"

#include <cstddef>
#include <memory>
#include <utility>

#include "src/config/checks.hpp"
#include "src/providers/http/mapping/escaping.hpp"

namespace celld::providers::mappings {
namespace {

constexpr std::size_t target_bytes_max = 8192;
constexpr std::size_t header_bytes_max = 8192;
constexpr std::size_t body_bytes_max = 1 << 20;

std::variant<std::string, Refusal> render_path(const std::vector<Template>& segments,
                                               const Scope& scope) {
  std::string path;
  for (const auto& segment : segments) {
    auto rendered = render_text(segment, EscapeContext::path, scope);
    if (auto* refusal = std::get_if<Refusal>(&rendered)) return std::move(*refusal);
    const auto text = std::get<std::optional<std::string>>(std::move(rendered)).value_or("");
    const bool is_literal =
        segment.parts.empty() || (segment.parts.size() == 1 && segment.whole() == nullptr);
    if (!is_literal && (text.empty() || has_dot_part(text)))
      return Refusal{"a segment of the path would be " +
                     (text.empty() ? "empty" : '`' + text + '`')};
    path += '/';
    path += text;
  }
  return path;
}

/// name=value&…, both escaped. The literal text in a value is escaped already.
std::variant<std::string, Refusal> render_pairs(const NamedTemplates& pairs, const Scope& scope) {
  std::string text;
  for (const auto& [name, value] : pairs) {
    auto rendered = render_text(value, EscapeContext::query, scope);
    if (auto* refusal = std::get_if<Refusal>(&rendered)) return std::move(*refusal);
    auto& there = std::get<std::optional<std::string>>(rendered);
    if (!there) continue;
    if (!text.empty()) text += '&';
    text += percent_encode(name) + '=' + *there;
  }
  return text;
}

std::optional<Refusal> render_headers(const NamedTemplates& headers, const Scope& scope,
                                      Rendered& request) {
  for (const auto& [name, value] : headers) {
    auto rendered = render_text(value, EscapeContext::header, scope);
    if (auto* refusal = std::get_if<Refusal>(&rendered)) return std::move(*refusal);
    auto& there = std::get<std::optional<std::string>>(rendered);
    if (!there) continue;
    if (there->size() > header_bytes_max)
      return Refusal{"the header " + name + " would have more than 8 KiB"};
    request.headers.emplace_back(name, std::move(*there));
  }
  return std::nullopt;
}

struct LeftOut {};
using MaybeValue = std::variant<json::Value, LeftOut, Refusal>;

MaybeValue render_body(const Body& body, const Scope& scope);

MaybeValue render_body(const Template& text, const Scope& scope) {
  const Expression* whole = text.whole();
  if (whole == nullptr) {
    auto rendered = render_text(text, EscapeContext::json, scope);
    if (auto* refusal = std::get_if<Refusal>(&rendered)) return std::move(*refusal);
    return json::Value(std::get<std::optional<std::string>>(std::move(rendered)).value_or(""));
  }
  auto evaluated = evaluate(*whole, scope);
  if (auto* found = std::get_if<Found>(&evaluated)) return std::move(found->value);
  if (auto* shown = std::get_if<Shown>(&evaluated)) return json::Value(std::move(shown->text));
  if (auto* refusal = std::get_if<Refusal>(&evaluated)) return std::move(*refusal);
  if (whole->has(FilterKind::optional)) return LeftOut{};
  return missing(*whole);
}

MaybeValue render_body(const std::shared_ptr<const Body::Object>& body, const Scope& scope) {
  json::Value object = json::Value::object();
  for (const auto& [name, member] : body->members) {
    auto rendered = render_body(member, scope);
    if (std::holds_alternative<Refusal>(rendered)) return rendered;
    if (auto* value = std::get_if<json::Value>(&rendered)) object[name] = std::move(*value);
  }
  return object;
}

MaybeValue render_body(const std::shared_ptr<const Body::Array>& body, const Scope& scope) {
  json::Value array = json::Value::array();
  for (const auto& element : body->elements) {
    auto rendered = render_body(element, scope);
    if (std::holds_alternative<Refusal>(rendered)) return rendered;
    if (auto* value = std::get_if<json::Value>(&rendered)) array.push_back(std::move(*value));
  }
  return array;
}

MaybeValue render_body(const json::Value& constant, const Scope&) {
  return constant;
}

MaybeValue render_body(const Body& body, const Scope& scope) {
  return std::visit([&](const auto& content) { return render_body(content, scope); }, body.content);
}

bool has_header(const Rendered& request, std::string_view lower_name) {
  for (const auto& [name, value] : request.headers) {
    if (config::lower_case(name) == lower_name) return true;
  }
  return false;
}

void set_body(Rendered& request, std::string body, const char* type) {
  if (!has_header(request, "content-type")) request.headers.emplace_back("Content-Type", type);
  request.body = std::move(body);
}

std::optional<Refusal> render_content(const Request& request, const Scope& scope,
                                      Rendered& rendered) {
  if (request.body) {
    auto body = render_body(*request.body, scope);
    if (auto* refusal = std::get_if<Refusal>(&body)) return std::move(*refusal);
    if (auto* value = std::get_if<json::Value>(&body))
      set_body(rendered, json::dump(*value), "application/json");
  } else if (!request.form.empty()) {
    auto form = render_pairs(request.form, scope);
    if (auto* refusal = std::get_if<Refusal>(&form)) return std::move(*refusal);
    set_body(rendered, std::get<std::string>(std::move(form)), "application/x-www-form-urlencoded");
  }
  if (rendered.body && rendered.body->size() > body_bytes_max)
    return Refusal{"the body would have more than 1 MiB"};
  return std::nullopt;
}

}  // namespace

std::variant<Rendered, Refusal> render(const Request& request, const Scope& scope) {
  Rendered rendered;
  rendered.method = request.method;
  auto path = render_path(request.path, scope);
  if (auto* refusal = std::get_if<Refusal>(&path)) return std::move(*refusal);
  rendered.target = std::get<std::string>(std::move(path));
  auto query = render_pairs(request.query, scope);
  if (auto* refusal = std::get_if<Refusal>(&query)) return std::move(*refusal);
  if (const auto& text = std::get<std::string>(query); !text.empty()) rendered.target += '?' + text;
  if (rendered.target.size() > target_bytes_max)
    return Refusal{"the URL would have more than 8 KiB"};
  if (auto refusal = render_headers(request.headers, scope, rendered)) return std::move(*refusal);
  if (auto refusal = render_content(request, scope, rendered)) return std::move(*refusal);
  return rendered;
}

std::optional<RequestRefused> check_all(const std::vector<Request>& requests, Scope scope) {
  const auto check = [&](const Request& request, std::size_t i,
                         bool is_poll) -> std::optional<RequestRefused> {
    auto rendered = render(request, scope);
    if (auto* refusal = std::get_if<Refusal>(&rendered))
      return RequestRefused{i, is_poll, std::move(*refusal)};
    expect_properties(request.answer, i, scope);
    return std::nullopt;
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto refused = check(requests[i], i, false);
    if (!refused && requests[i].poll) refused = check(requests[i].poll->request, i, true);
    if (refused) return refused;
  }
  return std::nullopt;
}

void expect_properties(const AnswerRules& answer, std::size_t index, Scope& scope) {
  for (const auto& [name, path] : answer.properties)
    scope.stand_ins[name] = "ANSWER-" + std::to_string(index + 1) + "-" + name;
}

}  // namespace celld::providers::mappings
