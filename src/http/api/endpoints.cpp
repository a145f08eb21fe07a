#include "src/http/api/endpoints.hpp"

#include <string>
#include <utility>

#include "src/config/checks.hpp"
#include "src/http/api/bodies.hpp"
#include "src/http/api/openapi.hpp"
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

// --- Jobs ----------------------------------------------------------------------------------------

void post_job(const Api& api, const Access& access, const Request& request, Responder responder) {
  if (!is_json(request)) return answer(responder, not_json());
  auto parsed = parse_submission(
      request.body, api.settings->get()->rules,
      {refuse_query(request.query), access.customer, request.header("idempotency-key")});
  if (const auto* problem = std::get_if<Problem>(&parsed)) return answer(responder, *problem);
  auto& [job, refusal_if_new] = std::get<Submission>(parsed);
  if (auto traceparent = request.header("traceparent"); traceparent && is_traceparent(*traceparent))
    job.spec.traceparent = std::move(*traceparent);
  caf::anon_send(api.gateway, PostJob{std::move(job), preferred_wait(request), std::move(responder),
                                      std::move(refusal_if_new)});
}

void get_job(const Api& api, const Access& access, const Request& request, Responder responder) {
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  const auto id = cells::parse_job_id(request.captures[0]);
  if (!id) return answer(responder, not_found("There is no such job."));
  caf::anon_send(api.gateway, GetJob{*id, std::move(responder), access.customer});
}

void get_jobs(const Api& api, const Access& access, const Request& request, Responder responder) {
  auto parsed = parse_job_query(request.query);
  if (auto* faults = std::get_if<Faults>(&parsed))
    return answer(responder, invalid_request(std::move(*faults)));
  caf::anon_send(api.gateway, GetJobs{std::get<cells::ListJobs>(std::move(parsed)),
                                      std::move(responder), access.customer});
}

/// POST …/cancel and …/retry.
template <class Order>
void post_order(const Api& api, const Access& access, const Request& request, Responder responder) {
  const auto id = cells::parse_job_id(request.captures[0]);
  if (!id) return answer(responder, not_found("There is no such job."));
  if (const auto problem = refuse_content(request)) return answer(responder, *problem);
  caf::anon_send(api.gateway, Order{*id, std::move(responder), access.customer});
}

// --- Events --------------------------------------------------------------------------------------

void follow_job(const Api& api, const Access& access, const Request& request, Responder responder) {
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  const auto id = cells::parse_job_id(request.captures[0]);
  if (!id) return answer(responder, not_found("There is no such job."));
  caf::anon_send(api.gateway, FollowJob{*id, request.header("last-event-id"), std::move(responder),
                                        access.customer});
}

void follow_jobs(const Api& api, const Access& access, const Request& request,
                 Responder responder) {
  auto parsed = parse_event_query(request.query);
  if (auto* faults = std::get_if<Faults>(&parsed))
    return answer(responder, invalid_request(std::move(*faults)));
  auto& filter = std::get<EventFilter>(parsed);
  caf::anon_send(api.gateway, FollowJobs{std::move(filter.customer), std::move(filter.product),
                                         request.header("last-event-id"), std::move(responder),
                                         access.customer});
}

// --- Cells ---------------------------------------------------------------------------------------

/// The cell key in the first two captures; nothing if they are not valid names.
std::optional<cells::CellKey> captured_key(const Request& request) {
  const auto is_part = [](const std::string& part) { return part == "*" || config::is_name(part); };
  if (!is_part(request.captures[0]) || !is_part(request.captures[1])) return std::nullopt;
  return cells::CellKey{request.captures[0], request.captures[1]};
}

void get_cell(const Api& api, const Access& access, const Request& request, Responder responder) {
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  auto key = captured_key(request);
  if (!key) return answer(responder, not_found("There is no such cell."));
  caf::anon_send(api.gateway, GetCell{std::move(*key), std::move(responder), access.customer});
}

void get_cells(const Api& api, const Access& access, const Request& request, Responder responder) {
  auto parsed = parse_cell_query(request.query);
  if (auto* faults = std::get_if<Faults>(&parsed))
    return answer(responder, invalid_request(std::move(*faults)));
  caf::anon_send(api.gateway, GetCells{std::get<cells::ListCells>(std::move(parsed)),
                                       std::move(responder), access.customer});
}

void put_pool(const Api& api, const Access& access, const Request& request, Responder responder) {
  auto key = captured_key(request);
  if (!key) return answer(responder, not_found("There is no such cell."));
  const auto parsed = parse_pool_size(request);
  if (const auto* problem = std::get_if<Problem>(&parsed)) return answer(responder, *problem);
  access.admin_call->size = std::get<std::uint32_t>(parsed);
  caf::anon_send(api.gateway, PutPool{std::move(*key), std::get<std::uint32_t>(parsed),
                                      std::move(responder), access.customer});
}

void delete_pool(const Api& api, const Access& access, const Request& request,
                 Responder responder) {
  auto key = captured_key(request);
  if (!key) return answer(responder, not_found("There is no such cell."));
  if (const auto problem = refuse_content(request)) return answer(responder, *problem);
  caf::anon_send(api.gateway,
                 PutPool{std::move(*key), std::nullopt, std::move(responder), access.customer});
}

/// POST …/pause, …/drain and …/resume.
template <cells::CellState state>
void post_cell_state(const Api& api, const Access& access, const Request& request,
                     Responder responder) {
  auto key = captured_key(request);
  if (!key) return answer(responder, not_found("There is no such cell."));
  if (const auto problem = refuse_content(request)) return answer(responder, *problem);
  caf::anon_send(api.gateway,
                 PostCellState{std::move(*key), state, std::move(responder), access.customer});
}

// --- The configuration ---------------------------------------------------------------------------

/// Refuses a token that is bound to a customer, where an endpoint covers all customers.
std::optional<Problem> refuse_bound(const Access& access) {
  if (!access.customer) return std::nullopt;
  if (access.admin_call) access.admin_call->admitted = false;
  return Problem{
      .kind = ProblemKind::missing_scope,
      .detail = "The token is bound to a customer, but this endpoint covers all customers."};
}

void get_services(const Api& api, const Access& access, const Request& request,
                  Responder responder) {
  if (const auto problem = refuse_bound(access)) return answer(responder, *problem);
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  caf::anon_send(api.gateway, GetServices{api.settings->get(), std::move(responder)});
}

void get_config(const Api& api, const Access& access, const Request& request,
                const Responder& responder) {
  if (const auto problem = refuse_bound(access)) return answer(responder, *problem);
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  responder.answer(json_response(api.settings->get()->shown));
}

std::optional<Problem> not_ready(const Api& api) {
  switch (api.readiness->state.load()) {
    case ReadyState::ready:
      return std::nullopt;
    case ReadyState::starting:
      return Problem{.kind = ProblemKind::starting, .detail = "celld is starting."};
    case ReadyState::shutting_down:
      return Problem{.kind = ProblemKind::shutting_down, .detail = "celld is shutting down."};
    case ReadyState::store_failed:
      return Problem{.kind = ProblemKind::store_unavailable, .detail = "The store cannot commit."};
  }
  return std::nullopt;
}

void post_reload(const Api& api, const Access& access, const Request& request,
                 const Responder& responder) {
  if (const auto problem = refuse_bound(access)) return answer(responder, *problem);
  if (const auto problem = refuse_content(request)) return answer(responder, *problem);
  if (const auto problem = not_ready(api)) return answer(responder, *problem);
  api.reload(
      [responder](const ReloadOutcome& outcome) { responder.answer(reload_response(outcome)); });
}

// --- Operation -----------------------------------------------------------------------------------

void get_livez(const Api&, const Access&, const Request& request, const Responder& responder) {
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  responder.answer(json_response(R"({"status":"ok"})"));
}

void get_readyz(const Api& api, const Access&, const Request& request, const Responder& responder) {
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  if (const auto problem = not_ready(api)) return answer(responder, *problem);
  responder.answer(json_response(R"({"status":"ready"})"));
}

void get_backup(const Api& api, const Access& access, const Request& request, Responder responder) {
  if (const auto problem = refuse_bound(access)) return answer(responder, *problem);
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  if (const auto problem = not_ready(api)) return answer(responder, *problem);
  caf::anon_send(api.backup_sender, SendBackup{std::move(responder)});
}

void get_metrics(const Api& api, const Access& access, const Request& request,
                 const Responder& responder) {
  if (const auto problem = refuse_bound(access)) return answer(responder, *problem);
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  api.scrape(responder);
}

void get_openapi(const Api&, const Access&, const Request& request, const Responder& responder) {
  if (Faults faults = refuse_query(request.query); !faults.empty())
    return answer(responder, invalid_request(std::move(faults)));
  responder.answer(json_response(std::string(openapi_json())));
}

// --- Admission -----------------------------------------------------------------------------------

/// Starts an audit record that is reported when the request is answered; the handler adds to it.
std::shared_ptr<AdminCall> audit(const Api& api, const AccessControl& control,
                                 const Request& request, const Responder& responder) {
  auto call = std::make_shared<AdminCall>();
  call->token = control.token_name(request);
  call->remote = request.peer;
  call->method = request.method;
  call->path = request.path;
  responder.on_answer([report = api.audit, call](int status) {
    call->status = status;
    if (report) report(*call);
  });
  return call;
}

/// The request's access. Nothing: the request has been answered with a refusal.
std::optional<Access> admit(const Api& api, std::optional<Scope> scope, const Request& request,
                            const Responder& responder) {
  const auto settings = api.settings->get();
  auto admitted = settings->access.admit(request, scope);
  std::shared_ptr<AdminCall> admin_call;
  if (scope == Scope::admin) admin_call = audit(api, settings->access, request, responder);
  if (const auto* problem = std::get_if<Problem>(&admitted)) {
    if (admin_call) admin_call->admitted = false;
    answer(responder, *problem);
    return std::nullopt;
  }
  auto access = std::get<Access>(std::move(admitted));
  access.admin_call = std::move(admin_call);
  return access;
}

}  // namespace

void add_endpoints(http::Server& server, const Api& api) {
  // An endpoint without a scope is open to every client.
  const auto add = [&](const char* method, const char* pattern, std::optional<Scope> scope,
                       auto handler) {
    server.handle(method, pattern,
                  [api, scope, handler](const Request& request, const Responder& responder) {
                    if (const auto access = admit(api, scope, request, responder))
                      handler(api, *access, request, responder);
                  });
  };
  add("POST", "/v1/jobs", Scope::submit, post_job);
  add("GET", "/v1/jobs", Scope::read, get_jobs);
  add("GET", "/v1/jobs/{}", Scope::read, get_job);
  add("POST", "/v1/jobs/{}/cancel", Scope::submit, post_order<PostCancel>);
  add("POST", "/v1/jobs/{}/retry", Scope::submit, post_order<PostRetry>);
  add("GET", "/v1/jobs/{}/events", Scope::read, follow_job);
  add("GET", "/v1/events", Scope::read, follow_jobs);
  add("GET", "/v1/cells", Scope::read, get_cells);
  add("GET", "/v1/cells/{}/{}", Scope::read, get_cell);
  add("PUT", "/v1/admin/cells/{}/{}/pool", Scope::admin, put_pool);
  add("DELETE", "/v1/admin/cells/{}/{}/pool", Scope::admin, delete_pool);
  add("POST", "/v1/admin/cells/{}/{}/pause", Scope::admin,
      post_cell_state<cells::CellState::paused>);
  add("POST", "/v1/admin/cells/{}/{}/drain", Scope::admin,
      post_cell_state<cells::CellState::draining>);
  add("POST", "/v1/admin/cells/{}/{}/resume", Scope::admin,
      post_cell_state<cells::CellState::active>);
  add("GET", "/v1/services", Scope::read, get_services);
  add("GET", "/v1/admin/config", Scope::admin, get_config);
  add("POST", "/v1/admin/reload", Scope::admin, post_reload);
  add("GET", "/v1/admin/backup", Scope::admin, get_backup);
  add("GET", "/livez", std::nullopt, get_livez);
  add("GET", "/readyz", std::nullopt, get_readyz);
  add("GET", "/metrics", Scope::read, get_metrics);
  add("GET", "/openapi.json", std::nullopt, get_openapi);
}

}  // namespace celld::api
