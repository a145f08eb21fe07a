#include "src/cli/members.hpp"

#include <utility>
#include <variant>

namespace celld::cli {
namespace {

/// Enough for a page of jobs with the most deeply nested parameters that celld accepts.
constexpr json::ParseLimits answer_limits{.depth_max = 128, .nodes_max = 20'000'000};

}  // namespace

std::optional<json::Value> parse_answer(std::string_view body) {
  auto parsed = json::parse(body, answer_limits);
  if (auto* document = std::get_if<json::Document>(&parsed)) return std::move(document->value);
  return std::nullopt;
}

const json::Value& member_at(const json::Value& value, Path path) {
  static const json::Value none;
  const json::Value* at = &value;
  for (const std::string_view name : path) {
    if (!at->is_object()) return none;
    const auto member = at->find(name);
    if (member == at->end()) return none;
    at = &*member;
  }
  return *at;
}

std::string text_at(const json::Value& value, Path path) {
  const auto* text = member_at(value, path).get_ptr<const std::string*>();
  return text == nullptr ? "" : *text;
}

std::int64_t integer_at(const json::Value& value, Path path) {
  const json::Value& number = member_at(value, path);
  const bool beyond = number.is_number_unsigned() &&
                      number.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
  return number.is_number_integer() && !beyond ? number.get<std::int64_t>() : 0;
}

double number_at(const json::Value& value, Path path) {
  const json::Value& number = member_at(value, path);
  return number.is_number() ? number.get<double>() : 0;
}

bool truth_at(const json::Value& value, Path path) {
  const json::Value& truth = member_at(value, path);
  return truth.is_boolean() && truth.get<bool>();
}

std::string limit_text(const json::Value& limit) {
  return limit.is_null() ? "none" : json::dump(limit);
}

const json::Value& elements_at(const json::Value& value, Path path) {
  static const json::Value none = json::Value::array();
  const json::Value& array = member_at(value, path);
  return array.is_array() ? array : none;
}

}  // namespace celld::cli
