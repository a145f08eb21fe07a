#include "src/http/api/bodies.hpp"

#include <string_view>
#include <utility>

#include "cells/model/cell_settings.hpp"
#include "src/http/api/query.hpp"
#include "src/http/api/request_headers.hpp"

namespace celld::api {

Problem not_json() {
  return {.kind = ProblemKind::unsupported_media_type,
          .detail =
              "The body must be JSON in UTF-8, sent as `application/json`; with curl: -H "
              "'Content-Type: application/json'."};
}

std::optional<Problem> refuse_content(const http::Request& request) {
  Faults faults = refuse_query(request.query);
  if (!request.body.empty()) {
    if (!is_json(request)) return not_json();
    auto parsed = json::parse(request.body);
    if (auto* error = std::get_if<json::SyntaxError>(&parsed))
      return unreadable_body(std::move(*error));
    json::ObjectReader(std::get<json::Document>(parsed).value, "", faults).finish();
  }
  if (faults.empty()) return std::nullopt;
  return invalid_request(std::move(faults));
}

std::variant<PoolChange, Problem> parse_pool_change(const http::Request& request) {
  if (!is_json(request)) return not_json();
  auto parsed = json::parse(request.body);
  if (auto* error = std::get_if<json::SyntaxError>(&parsed))
    return unreadable_body(std::move(*error));
  Faults faults = refuse_query(request.query);
  auto& document = std::get<json::Document>(parsed);
  for (json::Fault& fault : document.number_faults) faults.push_back(std::move(fault));
  json::ObjectReader reader(document.value, "", faults);
  PoolChange change;
  const auto read = [&](std::string_view member, std::int64_t max) {
    const auto value = reader.integer(member, 1, max);
    return value ? std::optional{static_cast<std::uint32_t>(*value)} : std::nullopt;
  };
  change.size = read("size", cells::pool_size_max);
  change.burst = read("burst", cells::pool_size_max);
  change.weight = read("weight", cells::pool_weight_max);
  reader.finish();
  const bool is_empty = document.value.is_object() && document.value.empty();
  if (is_empty) faults.push_back({"", "must have `size`, `burst` or `weight`"});
  if (change.size && change.burst && *change.burst < *change.size) {
    faults.push_back({"/burst", "must not be less than `size`"});
  }
  if (!faults.empty()) return invalid_request(std::move(faults));
  return change;
}

}  // namespace celld::api
