#include "src/http/api/bodies.hpp"

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

std::variant<std::uint32_t, Problem> parse_pool_size(const http::Request& request) {
  if (!is_json(request)) return not_json();
  auto parsed = json::parse(request.body);
  if (auto* error = std::get_if<json::SyntaxError>(&parsed))
    return unreadable_body(std::move(*error));
  Faults faults = refuse_query(request.query);
  auto& document = std::get<json::Document>(parsed);
  for (json::Fault& fault : document.number_faults) faults.push_back(std::move(fault));
  json::ObjectReader reader(document.value, "", faults);
  reader.require({"size"});
  const auto size = reader.integer("size", 1, cells::pool_size_max);
  reader.finish();
  if (!faults.empty()) return invalid_request(std::move(faults));
  return static_cast<std::uint32_t>(*size);
}

}  // namespace celld::api
