// The API's error responses: RFC 9457 problem documents, from one table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/model/status.hpp"
#include "cells/model/submission.hpp"
#include "src/http/server.hpp"
#include "src/json/json.hpp"

namespace celld::api {

/// Each has a row in the table of problem.cpp. The slug, title and status of a row never change.
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
  lease_lost,
  is_template,
  batch_cancelled,
  backup_under_way,
  schedule_configured,
  too_many_schedules,
  length_required,
  content_too_large,
  uri_too_long,
  unsupported_media_type,
  expectation_failed,
  invalid_request,
  invalid_job,
  key_reused,
  invalid_configuration,
  no_cell,
  queue_full,
  quota_exceeded,
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
inline constexpr std::size_t problem_kind_count = 39;

/// The limit that a 429 reports.
struct LimitUse {
  cells::CellKey cell;
  std::uint64_t limit = 0;
  std::uint64_t depth = 0;
  std::string_view name{};  ///< Its name in the API, such as "queue.max_jobs"; empty: it has none.
};

struct Problem {
  ProblemKind kind = ProblemKind::internal_error;
  std::string detail{};               ///< A human-readable sentence.
  std::vector<json::Fault> errors{};  ///< All the faults of the request.
  std::optional<LimitUse> quota{};
  std::optional<std::chrono::milliseconds> retry_after{};  ///< Rounded up to 1–3600 s.
};

/// A request with at least one fault.
Problem invalid_request(std::vector<json::Fault> errors);
Problem not_found(std::string detail);
/// A body that is not acceptable JSON.
Problem unreadable_body(json::SyntaxError error);
/// The engine refused a job.
Problem problem_of(const cells::Refusal& refusal);
/// The engine refused to reopen a job. The request has no members to point to.
Problem problem_of_reopening(const cells::Refusal& refusal);
/// Why a change of a pool is refused. `names_burst`: the request named a burst.
Problem problem_of(cells::PoolRefusal refusal, bool names_burst);
/// The engine answered with an error: a change that was asked for may or may not be stored.
Problem store_unavailable();
/// Earlier submissions have waited too long for their answers; nothing of the request was kept.
/// They wait for the disk, unless the job spares it.
Problem submissions_behind(bool spares_disk);

/// The same problem, for a line of a batch instead of a whole request.
Problem problem_of_line(Problem problem);

int status_of(ProblemKind kind);
std::string_view slug_of(ProblemKind kind);

http::Response to_response(const Problem& problem);

/// Appends the problem of one line of a batch as a JSON object.
void append_line_error(std::string& out, std::uint64_t line, const Problem& problem);

/// For http::Server: the response to a request that no handler answers.
http::Response refuse(int status, std::string detail, std::string allow);

}  // namespace celld::api
