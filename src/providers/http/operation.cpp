#include "src/providers/http/operation.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/json/json.hpp"

namespace celld::providers {
namespace {

constexpr std::int64_t request_max = 15;
constexpr std::int64_t left_max_ms = 604'800'000;
constexpr std::int64_t due_max_ms = 1'000'000'000'000'000;
constexpr std::size_t url_bytes_max = 8192;
/// Properties that passed the limits of answers, one level deeper.
constexpr json::ParseLimits operation_limits{.depth_max = 80, .nodes_max = 5'000'000};

}  // namespace

std::string to_text(const Operation& operation) {
  std::string text = "{\"request\":" + std::to_string(operation.request) +
                     ",\"has_begun\":" + (operation.has_begun ? "true" : "false") +
                     ",\"left_ms\":" + std::to_string(operation.left.count()) + ",\"properties\":{";
  const char* separator = "";
  for (const auto& [name, value] : operation.properties) {
    text += std::exchange(separator, ",") + json::quote(name) + ":" + value;
  }
  text += "}";
  if (operation.due) text += ",\"due_ms\":" + std::to_string(operation.due->count());
  if (!operation.url.empty()) text += ",\"url\":" + json::quote(operation.url);
  return text + "}";
}

std::optional<Operation> parse_operation(std::string_view text) {
  auto parsed = json::parse(text, operation_limits);
  const auto* document = std::get_if<json::Document>(&parsed);
  if (document == nullptr || !document->number_faults.empty()) return std::nullopt;
  std::vector<json::Fault> faults;
  json::ObjectReader reader(document->value, "", faults);
  reader.require({"request", "has_begun", "left_ms", "properties"});
  Operation operation;
  operation.request =
      static_cast<std::size_t>(reader.integer("request", 0, request_max).value_or(0));
  operation.has_begun = reader.boolean("has_begun").value_or(false);
  operation.left = cells::milliseconds{reader.integer("left_ms", 0, left_max_ms).value_or(0)};
  if (const auto due = reader.integer("due_ms", 0, due_max_ms)) operation.due.emplace(*due);
  operation.url = reader.string("url", 1, url_bytes_max).value_or("");
  if (const json::Value* properties = reader.object("properties")) {
    for (const auto& [name, value] : properties->items())
      operation.properties.emplace(name, json::dump(value));
  }
  reader.finish();
  return faults.empty() ? std::optional(std::move(operation)) : std::nullopt;
}

}  // namespace celld::providers
