// The small request bodies: none, a change of a pool, and the limits of a cell.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "cells/model/quota.hpp"
#include "src/http/api/problem.hpp"
#include "src/http/server.hpp"

namespace celld::api {

/// The body is not announced as JSON.
Problem not_json();

/// Refuses query parameters and any body but an empty object.
std::optional<Problem> refuse_content(const http::Request& request);

/// At least one is set.
struct PoolChange {
  std::optional<std::uint32_t> size{};
  std::optional<std::uint32_t> burst{};
  std::optional<std::uint32_t> weight{};
};

/// The body of PUT …/pool.
std::variant<PoolChange, Problem> parse_pool_change(const http::Request& request);

/// The body of PUT …/quota: at least one limit, as in the configuration; null: none.
std::variant<cells::QuotaOverride, Problem> parse_quota(const http::Request& request);

}  // namespace celld::api
