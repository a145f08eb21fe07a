#include "src/http/api/bodies.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cells/model/cell_settings.hpp"
#include "src/config/cell_setting.hpp"
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

namespace {

/// Reads the limits of one object, such as "queue", and of those inside it.
void read_quota(json::ObjectReader& reader, std::string_view object, cells::QuotaOverride& quota,
                Faults& faults) {
  for (const auto& setting : config::cell_settings()) {
    const auto member = config::member_of(setting.name);
    if (!setting.quota || config::object_of(setting.name) != object || !reader.has(member)) {
      continue;
    }
    cells::CellSettings settings;
    if (setting.read(reader, member, settings)) {
      quota[*setting.quota] = quota_of(settings, *setting.quota);
    }
  }
  for (const auto inner : config::objects_in(object)) {
    const bool has_limits =
        std::any_of(config::cell_settings().begin(), config::cell_settings().end(),
                    [&](const auto& each) { return each.quota && each.name.starts_with(inner); });
    const auto member = config::member_of(inner);
    const json::Value* value = has_limits ? reader.any(member) : nullptr;
    if (value == nullptr) continue;
    json::ObjectReader inner_reader(*value, reader.pointer_of(member), faults);
    read_quota(inner_reader, inner, quota, faults);
    inner_reader.finish();
  }
}

}  // namespace

std::variant<cells::QuotaOverride, Problem> parse_quota(const http::Request& request) {
  if (!is_json(request)) return not_json();
  auto parsed = json::parse(request.body);
  if (auto* error = std::get_if<json::SyntaxError>(&parsed))
    return unreadable_body(std::move(*error));
  Faults faults = refuse_query(request.query);
  auto& document = std::get<json::Document>(parsed);
  for (json::Fault& fault : document.number_faults) faults.push_back(std::move(fault));
  json::ObjectReader reader(document.value, "", faults);
  cells::QuotaOverride quota;
  read_quota(reader, "", quota, faults);
  reader.finish();
  if (faults.empty() && quota.empty()) faults.push_back({"", "must set at least one limit"});
  if (!faults.empty()) return invalid_request(std::move(faults));
  return quota;
}

}  // namespace celld::api
