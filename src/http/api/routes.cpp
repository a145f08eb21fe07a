#include "src/http/api/routes.hpp"

#include <string>
#include <utility>

#include "cells/model/quota.hpp"
#include "src/config/checks.hpp"
#include "src/http/api/problem.hpp"
#include "src/http/api/query.hpp"
#include "src/http/api/request_headers.hpp"

namespace celld::api {
namespace {

using http::Request;
using http::Responder;

void answer(const Responder& responder, const Problem& problem) {
  responder.answer(to_response(problem));
}

http::Response json_response(std::string body) {
  http::Response response;
  response.body = std::move(body);
  return response;
}

Problem not_json() {
  return {.kind = ProblemKind::unsupported_media_type,
          .detail =
              "The body must be JSON and say so; with curl: -H 'Content-Type: "
              "application/json'."};
}

// --- Jobs ----------------------------------------------------------------------------------------

void post_job(const Api& api, const Request& request, Responder responder) {
  if (!is_json(request)) return answer(responder, not_json());
  Faults faults = refuse_query(request.query);
  // Taken for a plain submission, a retry under the same key would become a second job.
  if (request.header("idempotency-key"))
    faults.push_back({"",
                      "header Idempotency-Key: idempotency keys are not available in this "
                      "version"});
  auto parsed = parse_submission(request.body, *api.rules, std::move(faults));
  if (const auto* problem = std::get_if<Problem>(&parsed)) return answer(responder, *problem);
  auto& job = std::get<cells::JobRequest>(parsed);
  if (auto traceparent = request.header("traceparent"); traceparent && is_traceparent(*traceparent))
    job.spec.traceparent = std::move(*traceparent);
  caf::anon_send(api.gateway,
                 PostJob{std::move(job), preferred_wait(request), std::move(responder)});
}

void get_job(const Api& api, const Request& request, Responder responder) {
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  const auto id = cells::parse_job_id(request.captures[0]);
  if (!id) return answer(responder, not_found("There is no such job."));
  caf::anon_send(api.gateway, GetJob{*id, std::move(responder)});
}

void get_jobs(const Api& api, const Request& request, Responder responder) {
  auto parsed = parse_job_query(request.query);
  if (auto* faults = std::get_if<Faults>(&parsed))
    return answer(responder, invalid_request(std::move(*faults)));
  caf::anon_send(api.gateway,
                 GetJobs{std::get<cells::ListJobs>(std::move(parsed)), std::move(responder)});
}

// --- Cells ---------------------------------------------------------------------------------------

/// The key in the first two captures; nothing when it cannot be one.
std::optional<cells::CellKey> captured_key(const Request& request) {
  const auto is_part = [](const std::string& part) { return part == "*" || config::is_name(part); };
  if (!is_part(request.captures[0]) || !is_part(request.captures[1])) return std::nullopt;
  return cells::CellKey{request.captures[0], request.captures[1]};
}

void get_cell(const Api& api, const Request& request, Responder responder) {
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  auto key = captured_key(request);
  if (!key) return answer(responder, not_found("There is no such cell."));
  caf::anon_send(api.gateway, GetCell{std::move(*key), std::move(responder)});
}

void get_cells(const Api& api, const Request& request, Responder responder) {
  auto parsed = parse_cell_query(request.query);
  if (auto* faults = std::get_if<Faults>(&parsed))
    return answer(responder, invalid_request(std::move(*faults)));
  caf::anon_send(api.gateway,
                 GetCells{std::get<cells::ListCells>(std::move(parsed)), std::move(responder)});
}

/// The body of PUT …/pool.
std::variant<std::uint32_t, Problem> parse_pool_size(const std::string& body, Faults faults) {
  auto parsed = json::parse(body);
  if (auto* error = std::get_if<json::SyntaxError>(&parsed))
    return Problem{.kind = ProblemKind::malformed_json, .detail = std::move(error->detail)};
  auto& document = std::get<json::Document>(parsed);
  for (json::Fault& fault : document.number_faults) faults.push_back(std::move(fault));
  json::ObjectReader reader(document.value, "", faults);
  reader.require({"size"});
  const auto size = reader.integer("size", 1, cells::pool_size_max);
  reader.finish();
  if (!faults.empty()) return invalid_request(std::move(faults));
  return static_cast<std::uint32_t>(*size);
}

void put_pool(const Api& api, const Request& request, Responder responder) {
  auto key = captured_key(request);
  if (!key) return answer(responder, not_found("There is no such cell."));
  if (!is_json(request)) return answer(responder, not_json());
  auto parsed = parse_pool_size(request.body, refuse_query(request.query));
  if (const auto* problem = std::get_if<Problem>(&parsed)) return answer(responder, *problem);
  caf::anon_send(api.gateway,
                 PutPool{std::move(*key), std::get<std::uint32_t>(parsed), std::move(responder)});
}

void delete_pool(const Api& api, const Request& request, Responder responder) {
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  auto key = captured_key(request);
  if (!key) return answer(responder, not_found("There is no such cell."));
  caf::anon_send(api.gateway, PutPool{std::move(*key), std::nullopt, std::move(responder)});
}

// --- Operating -----------------------------------------------------------------------------------

void get_livez(const Api&, const Request& request, Responder responder) {
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  responder.answer(json_response(R"({"status":"ok"})"));
}

void get_readyz(const Api& api, const Request& request, Responder responder) {
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  switch (api.readiness->state.load()) {
    case ReadyState::ready:
      return responder.answer(json_response(R"({"status":"ready"})"));
    case ReadyState::starting:
      return answer(responder, {.kind = ProblemKind::starting, .detail = "celld is starting."});
    case ReadyState::draining:
      return answer(responder, {.kind = ProblemKind::draining, .detail = "celld is stopping."});
    case ReadyState::store_failed:
      return answer(responder,
                    {.kind = ProblemKind::store_unavailable, .detail = "The store cannot commit."});
  }
}

}  // namespace

void add_routes(http::Server& server, const Api& api) {
  using ApiHandler = void (*)(const Api&, const Request&, Responder);
  const auto add = [&](const char* method, const char* pattern, ApiHandler handler) {
    server.route(method, pattern, [api, handler](const Request& request, Responder responder) {
      // Without tokens, any page in a browser on this machine could otherwise submit jobs.
      if (is_foreign(request))
        return answer(responder, {.kind = ProblemKind::foreign_origin,
                                  .detail = "The request comes from a page of another origin."});
      handler(api, request, std::move(responder));
    });
  };
  add("POST", "/v1/jobs", post_job);
  add("GET", "/v1/jobs", get_jobs);
  add("GET", "/v1/jobs/{}", get_job);
  add("GET", "/v1/cells", get_cells);
  add("GET", "/v1/cells/{}/{}", get_cell);
  add("PUT", "/v1/admin/cells/{}/{}/pool", put_pool);
  add("DELETE", "/v1/admin/cells/{}/{}/pool", delete_pool);
  add("GET", "/livez", get_livez);
  add("GET", "/readyz", get_readyz);
}

}  // namespace celld::api
