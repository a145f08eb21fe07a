// What the API answers when it says no: RFC 9457 bodies, from one table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/model/submission.hpp"
#include "src/http/server.hpp"
#include "src/json/json.hpp"

namespace celld::api {

/// Each has one row in the table of problem.cpp: its slug, title and status never change.
enum class ProblemKind : std::uint8_t {
  bad_request,
  malformed_json,
  unauthorized,
  foreign_origin,
  missing_scope,
  not_found,
  method_not_allowed,
  request_timeout,
  not_cancellable,
  not_retryable,
  is_template,
  backup_under_way,
  length_required,
  content_too_large,
  uri_too_long,
  unsupported_media_type,
  expectation_failed,
  invalid_request,
  key_reused,
  invalid_configuration,
  no_cell,
  queue_full,
  too_many_cells,
  headers_too_large,
  internal_error,
  not_implemented,
  unavailable,
  starting,
  shutting_down,
  draining,
  store_unavailable,
  backup_failed,
  version_not_supported,
};
inline constexpr std::size_t problem_kind_count = 33;

/// The quota that a 429 is about.
struct QuotaUse {
  cells::CellKey cell;
  std::uint64_t limit = 0;
  std::uint64_t depth = 0;
};

struct Problem {
  ProblemKind kind = ProblemKind::internal_error;
  std::string detail{};               ///< For people.
  std::vector<json::Fault> errors{};  ///< All the faults of the request.
  std::optional<QuotaUse> quota{};
  std::optional<std::chrono::milliseconds> retry_after{};  ///< Rounded up to 1–3600 s.
};

/// A request with faults, of which there is at least one.
Problem invalid_request(std::vector<json::Fault> errors);
Problem not_found(std::string detail);
/// A body that cannot be read.
Problem unreadable_body(json::SyntaxError error);
/// Why the engine did not accept a job.
Problem problem_of(const cells::Refusal& refusal);
/// The engine answered with an error: nothing is known to be on disk.
Problem store_unavailable();
/// The store has so much to write, or needs so long for it, that nothing of the request was kept.
Problem store_behind();

int status_of(ProblemKind kind);
std::string_view slug_of(ProblemKind kind);

http::Response to_response(const Problem& problem);

/// For http::Server: refusals made before or beside a handler.
http::Response refuse(int status, std::string detail, std::string allow);

}  // namespace celld::api
