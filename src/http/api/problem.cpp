#include "src/http/api/problem.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace celld::api {
namespace {

using std::chrono::milliseconds;

struct Row {
  ProblemKind kind;
  std::string_view slug;
  std::string_view title;
  int status;
};

// Ordered by status. `refuse` uses the first row of a status.
constexpr std::array<Row, problem_kind_count> table = {{
    {ProblemKind::bad_request, "bad-request", "Bad request", 400},
    {ProblemKind::malformed_json, "malformed-json", "The body is not acceptable JSON", 400},
    {ProblemKind::unauthorized, "unauthorized", "A token is needed", 401},
    {ProblemKind::foreign_origin, "foreign-origin", "Requests of other sites are refused", 403},
    {ProblemKind::missing_scope, "missing-scope", "The token may not do this", 403},
    {ProblemKind::not_found, "not-found", "Not found", 404},
    {ProblemKind::method_not_allowed, "method-not-allowed", "Method not allowed", 405},
    {ProblemKind::request_timeout, "request-timeout", "The request took too long", 408},
    {ProblemKind::not_cancellable, "not-cancellable", "The job cannot be cancelled", 409},
    {ProblemKind::not_retryable, "not-retryable", "The job cannot be retried", 409},
    {ProblemKind::lease_lost, "lease-lost", "The lease is not live", 409},
    {ProblemKind::is_template, "is-template", "The cell is a template", 409},
    {ProblemKind::batch_cancelled, "batch-cancelled", "The batch was cancelled", 409},
    {ProblemKind::backup_under_way, "backup-under-way", "A backup is under way", 409},
    {ProblemKind::schedule_configured, "schedule-configured",
     "The schedule belongs to the configuration", 409},
    {ProblemKind::too_many_schedules, "too-many-schedules", "There are too many schedules", 409},
    {ProblemKind::length_required, "length-required", "Length required", 411},
    {ProblemKind::content_too_large, "content-too-large", "The body is too large", 413},
    {ProblemKind::uri_too_long, "uri-too-long", "The URI is too long", 414},
    {ProblemKind::unsupported_media_type, "unsupported-media-type", "Unsupported media type", 415},
    {ProblemKind::expectation_failed, "expectation-failed", "Expectation failed", 417},
    {ProblemKind::invalid_request, "invalid-request", "The request has faults", 422},
    {ProblemKind::invalid_job, "invalid-job", "The job has faults", 422},
    {ProblemKind::key_reused, "idempotency-key-reused", "The key was used for another request",
     422},
    {ProblemKind::invalid_configuration, "invalid-configuration",
     "The configuration file has faults", 422},
    {ProblemKind::no_cell, "no-cell", "No cell serves this customer and product", 422},
    {ProblemKind::queue_full, "queue-full", "The cell's queue is full", 429},
    {ProblemKind::quota_exceeded, "quota-exceeded", "A quota is used up", 429},
    {ProblemKind::too_many_cells, "too-many-cells", "The template has too many cells", 429},
    {ProblemKind::headers_too_large, "headers-too-large", "The headers are too large", 431},
    {ProblemKind::internal_error, "internal-error", "Internal error", 500},
    {ProblemKind::not_implemented, "not-implemented", "Not implemented", 501},
    {ProblemKind::unavailable, "unavailable", "Unavailable", 503},
    {ProblemKind::starting, "starting", "celld is starting", 503},
    {ProblemKind::shutting_down, "draining", "celld is stopping", 503},
    {ProblemKind::draining, "cell-draining", "The cell is draining", 503},
    {ProblemKind::store_unavailable, "store-unavailable", "The store cannot commit", 503},
    {ProblemKind::backup_failed, "backup-failed", "The backup could not be made", 503},
    {ProblemKind::version_not_supported, "version-not-supported", "HTTP version not supported",
     505},
}};

// Bounds the response to a hostile request.
constexpr std::size_t errors_shown_max = 1000;

const Row& row_of(ProblemKind kind) {
  return *std::find_if(table.begin(), table.end(),
                       [&](const Row& row) { return row.kind == kind; });
}

ProblemKind kind_of_status(int status) {
  const auto row = std::find_if(table.begin(), table.end(),
                                [&](const Row& candidate) { return candidate.status == status; });
  if (row != table.end()) return row->kind;
  return status >= 500 ? ProblemKind::internal_error : ProblemKind::bad_request;
}

std::int64_t retry_after_s(milliseconds wait) {
  return std::clamp<std::int64_t>((wait.count() + 999) / 1000, 1, 3600);
}

void append_errors(std::string& out, const std::vector<json::Fault>& errors) {
  out += ",\"errors\":[";
  const std::size_t shown = std::min(errors.size(), errors_shown_max);
  for (std::size_t i = 0; i < shown; ++i) {
    out += i == 0 ? "{\"pointer\":" : ",{\"pointer\":";
    json::append_quoted(out, errors[i].pointer);
    out += ",\"detail\":";
    json::append_quoted(out, errors[i].detail);
    out += '}';
  }
  out += ']';
}

void append_quota(std::string& out, const LimitUse& quota) {
  out += ",\"cell\":{\"customer\":";
  json::append_quoted(out, quota.cell.customer);
  out += ",\"product\":";
  json::append_quoted(out, quota.cell.product);
  out += "},\"limit\":" + std::to_string(quota.limit) + ",\"depth\":" + std::to_string(quota.depth);
  if (quota.name.empty()) return;
  out += ",\"quota\":";
  json::append_quoted(out, quota.name);
}

std::string count_of_faults(std::string_view what, std::size_t count) {
  std::string text = "The ";
  text += what;
  text += count == 1 ? " has a fault" : " has " + std::to_string(count) + " faults";
  return text += ": see `errors`.";
}

constexpr std::string_view unreadable = "The body cannot be read: ";

/// "1 job", "2 jobs".
std::string jobs_text(std::uint64_t count, const char* what = "job") {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// "at most 0.5 jobs a second".
std::string rate_text(double per_s) {
  return "at most " + json::dump(json::Value(per_s)) + (per_s == 1 ? " job" : " jobs") +
         " a second";
}

/// The limit that a job exceeds alone, as the configuration names it.
std::string bytes_limit_of(const cells::Refusal& refusal) {
  using Of = cells::Refusal::BytesOf;
  if (refusal.bytes_of == Of::memory) return "`capacity.memory_max_bytes`";
  const bool is_customers = refusal.bytes_of == Of::customer;
  return (is_customers ? "`customers.quota.max_bytes` of the cell "
                       : "`queue.max_bytes` of the cell ") +
         to_string(refusal.cell);
}

Problem quota_problem(ProblemKind kind, const cells::Refusal& refusal, std::string_view name,
                      std::string detail) {
  Problem problem{.kind = kind, .detail = std::move(detail)};
  problem.quota = LimitUse{refusal.cell, refusal.limit, refusal.depth, name};
  problem.retry_after = refusal.retry_after;
  return problem;
}

}  // namespace

Problem invalid_request(std::vector<json::Fault> errors) {
  Problem problem{.kind = ProblemKind::invalid_request,
                  .detail = count_of_faults("request", errors.size())};
  problem.errors = std::move(errors);
  return problem;
}

Problem not_found(std::string detail) {
  return {.kind = ProblemKind::not_found, .detail = std::move(detail)};
}

Problem unreadable_body(json::SyntaxError error) {
  return {
      .kind = error.too_many_values ? ProblemKind::content_too_large : ProblemKind::malformed_json,
      .detail = std::string{unreadable} + std::move(error.detail) + "."};
}

Problem problem_of(const cells::Refusal& refusal) {
  using Kind = cells::Refusal::Kind;
  const std::string cell = to_string(refusal.cell);
  switch (refusal.kind) {
    case Kind::no_cell:
      return {.kind = ProblemKind::no_cell,
              .detail = "The configuration has no cell for this customer and product."};
    case Kind::timeout_too_long:
      return invalid_request({{"/timeout_ms", "must be at most " + std::to_string(refusal.limit) +
                                                  ", the `timeout_max_ms` of the cell " + cell}});
    case Kind::queue_full:
      return quota_problem(ProblemKind::queue_full, refusal, "queue.max_jobs",
                           "The cell " + cell + " has " +
                               jobs_text(refusal.depth, "unfinished job") + "; its limit is " +
                               std::to_string(refusal.limit) + ".");
    case Kind::too_many_cells:
      return quota_problem(ProblemKind::too_many_cells, refusal, "",
                           "celld cannot make the cell " + cell +
                               ": its template already has its limit of " +
                               std::to_string(refusal.limit) + " cells.");
    case Kind::shutting_down: {
      Problem problem{.kind = ProblemKind::shutting_down,
                      .detail = "celld is shutting down and accepts no new jobs."};
      problem.retry_after = refusal.retry_after;
      return problem;
    }
    case Kind::draining: {
      Problem problem{.kind = ProblemKind::draining,
                      .detail = "The cell " + cell + " is draining and accepts no new jobs."};
      problem.retry_after = refusal.retry_after;
      return problem;
    }
    case Kind::service_removed:
      return invalid_request(
          {{"/services",
            "needs a service, or the undo of a service, that a reload has just removed"}});
    case Kind::key_reused:
      return {.kind = ProblemKind::key_reused,
              .detail =
                  "The customer already used this idempotency key for a different request. Use a "
                  "new key for a new request."};
    case Kind::cell_bytes_full:
      return quota_problem(ProblemKind::queue_full, refusal, "queue.max_bytes",
                           "The jobs of the cell " + cell + " take " +
                               std::to_string(refusal.depth) + " bytes; their limit is " +
                               std::to_string(refusal.limit) + ".");
    case Kind::queue_rate:
      return quota_problem(ProblemKind::quota_exceeded, refusal, "queue.submissions_per_s",
                           "The cell " + cell + " accepts " + rate_text(refusal.per_s) + ".");
    case Kind::customer_jobs_full:
      return quota_problem(ProblemKind::quota_exceeded, refusal, "customer.max_jobs",
                           "The customer has " + jobs_text(refusal.depth, "unfinished job") +
                               " in the cell " + cell + "; its limit is " +
                               std::to_string(refusal.limit) + ".");
    case Kind::customer_bytes_full:
      return quota_problem(ProblemKind::quota_exceeded, refusal, "customer.max_bytes",
                           "The customer's unfinished jobs in the cell " + cell + " take " +
                               std::to_string(refusal.depth) + " bytes; their limit is " +
                               std::to_string(refusal.limit) + ".");
    case Kind::customer_rate:
      return quota_problem(
          ProblemKind::quota_exceeded, refusal, "customer.submissions_per_s",
          "The cell " + cell + " accepts " + rate_text(refusal.per_s) + " from each customer.");
    case Kind::job_too_large:
      return invalid_request(
          {{"", "counts for " + std::to_string(refusal.depth) + " bytes, but " +
                    bytes_limit_of(refusal) + " allows only " + std::to_string(refusal.limit) +
                    " bytes for all jobs together"}});
    case Kind::memory_full:
      return quota_problem(ProblemKind::queue_full, refusal, "capacity.memory_max_bytes",
                           "The jobs in memory take " + std::to_string(refusal.depth) +
                               " bytes; their limit is " + std::to_string(refusal.limit) + ".");
    case Kind::durability_differs:
      return {.kind = ProblemKind::not_retryable,
              .detail =
                  "The job has another `durability` than the cell that would run it now. Submit a "
                  "new job."};
  }
  return {.kind = ProblemKind::internal_error, .detail = "The job was refused."};
}

Problem problem_of_reopening(const cells::Refusal& refusal) {
  auto problem = problem_of(refusal);
  for (auto& fault : problem.errors) fault.pointer.clear();
  return problem;
}

Problem problem_of(cells::PoolRefusal refusal, bool names_burst) {
  if (refusal == cells::PoolRefusal::beyond_capacity) {
    return invalid_request(
        {{"/size", "is more than the other cells leave of `capacity.running_max`"}});
  }
  if (names_burst) {
    return invalid_request({{"/burst", "must not be less than the size of the pool"}});
  }
  return invalid_request(
      {{"/size", "must not be more than the burst of the pool; change `burst` as well"}});
}

Problem store_unavailable() {
  Problem problem{.kind = ProblemKind::store_unavailable,
                  .detail =
                      "celld could not complete the request. A change that the request asked for "
                      "may or may not be stored."};
  problem.retry_after = milliseconds(5000);
  return problem;
}

Problem submissions_behind(bool spares_disk) {
  Problem problem{.kind = ProblemKind::store_unavailable,
                  .detail = std::string(spares_disk ? "celld" : "The disk") +
                            " is behind with earlier submissions. This one was not accepted."};
  problem.retry_after = milliseconds(5000);
  return problem;
}

Problem problem_of_line(Problem problem) {
  if (problem.kind == ProblemKind::invalid_request) {
    problem.kind = ProblemKind::invalid_job;
    problem.detail = count_of_faults("job", problem.errors.size());
  } else if (problem.detail.starts_with(unreadable)) {
    problem.detail = "The job cannot be read: " + problem.detail.substr(unreadable.size());
  }
  return problem;
}

int status_of(ProblemKind kind) {
  return row_of(kind).status;
}

std::string_view slug_of(ProblemKind kind) {
  return row_of(kind).slug;
}

http::Response to_response(const Problem& problem) {
  const Row& row = row_of(problem.kind);
  http::Response response;
  response.status = row.status;
  response.content_type = "application/problem+json";
  std::string& out = response.body;
  out += "{\"type\":\"/problems/";
  out += row.slug;
  out += "\",\"title\":";
  json::append_quoted(out, row.title);
  out += ",\"status\":" + std::to_string(row.status) + ",\"detail\":";
  json::append_quoted(out, problem.detail);
  if (problem.quota) append_quota(out, *problem.quota);
  if (!problem.errors.empty()) append_errors(out, problem.errors);
  out += '}';
  if (row.status == 401)
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"celld\"");
  if (row.status == 503 || row.status == 429 || problem.retry_after) {
    const auto wait = retry_after_s(problem.retry_after.value_or(milliseconds(1000)));
    response.headers.emplace_back("Retry-After", std::to_string(wait));
  }
  return response;
}

void append_line_error(std::string& out, std::uint64_t line, const Problem& problem) {
  const Row& row = row_of(problem.kind);
  out += "{\"line\":" + std::to_string(line) + ",\"status\":" + std::to_string(row.status);
  out += ",\"type\":\"/problems/";
  out += row.slug;
  out += "\",\"detail\":";
  json::append_quoted(out, problem.detail);
  if (problem.quota) append_quota(out, *problem.quota);
  if (!problem.errors.empty()) append_errors(out, problem.errors);
  out += '}';
}

http::Response refuse(int status, std::string detail, std::string allow) {
  http::Response response =
      to_response({.kind = kind_of_status(status), .detail = std::move(detail)});
  if (!allow.empty()) response.headers.emplace_back("Allow", std::move(allow));
  return response;
}

}  // namespace celld::api
