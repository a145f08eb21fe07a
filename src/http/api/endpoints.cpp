#include "src/http/api/endpoints.hpp"

#include <string>
#include <utility>

#include "src/http/api/batch_sink.hpp"
#include "src/http/api/bodies.hpp"
#include "src/http/api/openapi.hpp"
#include "src/http/api/problem.hpp"
#include "src/http/api/query.hpp"
#include "src/http/api/request_headers.hpp"
#include "src/http/api/schedule_json.hpp"

namespace celld::api {
namespace {

using http::Request;
using http::Responder;

/// One admitted request.
struct Call {
  const Api& api;
  const Request& request;
  const Responder& responder;
  const AccessControl& access;  ///< What has admitted the request; a reload may have replaced it.
  AdminCall* audit = nullptr;   ///< The audit record; endpoints of scope `admin` only.

  void refuse(const Problem& problem) const { responder.answer(to_response(problem)); }

  template <class Message>
  void send(Message message) const {
    caf::anon_send(api.gateway, std::move(message));
  }

  template <class Message>
  void send_to_leases(Message message) const {
    caf::anon_send(api.leases, std::move(message));
  }

  /// Calls `send`, which begins what outlives the request. A reload that changes what admitted the
  /// request sends `End` to `actor`, but may do so before `send`: then this sends it again.
  template <class End, class Actor>
  void begin(const Actor& actor, const std::function<void()>& send) const {
    send();
    if (api.settings->get()->access != access) caf::anon_send(actor, End{});
  }

  /// For messages that only lead to brief work.
  void send_brief(const std::function<void()>& send) const {
    api.help_actors ? api.help_actors(send) : send();
  }
};

http::Response json_response(std::string body) {
  http::Response response;
  response.body = std::move(body);
  return response;
}

/// The client, as the owner of batches.
cells::BatchOwner client_of(const AccessControl& access, const Request& request,
                            const BoundCustomer& only_customer) {
  return {access.token_name(request), only_customer.value_or("")};
}

/// A batch that a request names. A client that is bound to a customer sees only its own batches.
struct NamedBatch {
  cells::BatchId id = 0;
  cells::BatchOwner client;
};

std::optional<Problem> refuse_any_query(const Request& request) {
  Faults faults = refuse_query(request.query);
  if (faults.empty()) return std::nullopt;
  return invalid_request(std::move(faults));
}

// --- Jobs ----------------------------------------------------------------------------------------

void post_job(const Call& call, const BoundCustomer& only_customer) {
  if (!is_json(call.request)) return call.refuse(not_json());
  auto parsed = parse_submission(
      call.request.body, call.api.settings->get()->rules,
      {refuse_query(call.request.query), only_customer, call.request.header("idempotency-key")});
  if (const auto* problem = std::get_if<Problem>(&parsed)) return call.refuse(*problem);
  auto& submission = std::get<Submission>(parsed);
  if (auto traceparent = call.request.header("traceparent");
      traceparent && is_traceparent(*traceparent))
    submission.request.spec.traceparent = std::move(*traceparent);
  call.send_brief([&] {
    call.send(PostJob{std::move(submission.request), preferred_wait(call.request), call.responder,
                      std::move(submission.refusal_if_new), submission.spares_disk});
  });
}

void get_job(const Call& call, const NamedJob& job) {
  if (const auto problem = refuse_any_query(call.request)) return call.refuse(*problem);
  call.send(GetJob{job, call.responder});
}

void get_jobs(const Call& call, const BoundCustomer& only_customer) {
  auto parsed = parse_job_query(call.request.query);
  if (auto* faults = std::get_if<Faults>(&parsed))
    return call.refuse(invalid_request(std::move(*faults)));
  call.send(GetJobs{std::get<cells::ListJobs>(std::move(parsed)), call.responder, only_customer});
}

/// POST …/cancel and …/retry.
template <class Order>
void post_order(const Call& call, const NamedJob& job) {
  if (const auto problem = refuse_content(call.request)) return call.refuse(*problem);
  call.send(Order{job, call.responder});
}

// --- Batches -------------------------------------------------------------------------------------

/// Why the batch cannot be read at all, if it cannot.
std::optional<Problem> refuse_batch(const Request& request) {
  if (!is_ndjson(request) && !is_json(request)) {
    return Problem{
        .kind = ProblemKind::unsupported_media_type,
        .detail =
            "The body must be jobs in UTF-8, sent as `application/x-ndjson` (one a line) "
            "or as `application/json` (an array); with curl: -H 'Content-Type: "
            "application/x-ndjson' --data-binary @jobs.ndjson"};
  }
  Faults faults = refuse_query(request.query);
  if (request.header("idempotency-key")) {
    faults.push_back({"",
                      "header Idempotency-Key does not apply to a batch: use the member "
                      "`idempotency_key` of each job"});
  }
  if (faults.empty()) return std::nullopt;
  return invalid_request(std::move(faults));
}

std::unique_ptr<http::BodySink> receive_batch(const Api& api, const Request& request,
                                              const Responder& responder,
                                              std::shared_ptr<http::BodyFlow> flow,
                                              cells::BatchOwner client,
                                              const BoundCustomer& only_customer) {
  if (const auto refusal = refuse_batch(request)) {
    responder.answer(to_response(*refusal));
    return nullptr;
  }
  auto post = std::make_shared<BatchPost>(std::move(client), responder, std::move(flow),
                                          preferred_wait(request));
  return std::make_unique<BatchSink>(api.batch_desk, api.settings, std::move(post),
                                     is_ndjson(request) ? BatchFormat::lines : BatchFormat::array,
                                     request, only_customer);
}

void get_batch(const Call& call, const NamedBatch& batch) {
  if (const auto problem = refuse_any_query(call.request)) return call.refuse(*problem);
  caf::anon_send(call.api.batch_desk, GetBatch{batch.id, batch.client, call.responder});
}

void get_batches(const Call& call, const BoundCustomer& only_customer) {
  auto parsed = parse_batch_query(call.request.query);
  if (auto* faults = std::get_if<Faults>(&parsed))
    return call.refuse(invalid_request(std::move(*faults)));
  auto& list = std::get<cells::ListBatches>(parsed);
  if (only_customer) list.owner = client_of(call.access, call.request, only_customer);
  caf::anon_send(call.api.batch_desk, GetBatches{std::move(list), call.responder});
}

void cancel_batch(const Call& call, const NamedBatch& batch) {
  if (const auto problem = refuse_content(call.request)) return call.refuse(*problem);
  caf::anon_send(call.api.batch_desk, PostBatchCancel{batch.id, batch.client, call.responder});
}

// --- Schedules -----------------------------------------------------------------------------------

void get_schedule(const Call& call, const BoundCustomer& only_customer) {
  if (const auto problem = refuse_any_query(call.request)) return call.refuse(*problem);
  call.send(GetSchedule{{call.request.captures[0], only_customer}, call.responder});
}

void get_schedules(const Call& call, const BoundCustomer& only_customer) {
  auto parsed = parse_schedule_query(call.request.query);
  if (auto* faults = std::get_if<Faults>(&parsed))
    return call.refuse(invalid_request(std::move(*faults)));
  auto& list = std::get<cells::ListSchedules>(parsed);
  list.customer = only_customer;
  call.send(GetSchedules{std::move(list), call.responder});
}

void put_schedule(const Call& call, const BoundCustomer& only_customer) {
  auto parsed = parse_schedule(call.request, call.api.settings->get()->rules, call.api.zone_fault,
                               only_customer);
  if (const auto* problem = std::get_if<Problem>(&parsed)) return call.refuse(*problem);
  call.send(PutSchedule{
      {call.request.captures[0], std::get<cells::ScheduleSpec>(std::move(parsed)), only_customer},
      call.responder});
}

void delete_schedule(const Call& call, const BoundCustomer& only_customer) {
  if (const auto problem = refuse_content(call.request)) return call.refuse(*problem);
  call.send(DeleteSchedule{{call.request.captures[0], only_customer}, call.responder});
}

// --- Events --------------------------------------------------------------------------------------

/// Where the client resumes a stream; none on its first connection.
auto last_event_id(const http::Request& request) {
  auto id = request.header("last-event-id");
  if (id && id->empty()) id.reset();
  return id;
}

void follow_job(const Call& call, const NamedJob& job) {
  if (const auto problem = refuse_any_query(call.request)) return call.refuse(*problem);
  call.begin<EndStreams>(call.api.gateway, [&] {
    call.send(FollowJob{job, last_event_id(call.request), call.responder});
  });
}

void follow_jobs(const Call& call, const BoundCustomer& only_customer) {
  auto parsed = parse_event_query(call.request.query);
  if (auto* faults = std::get_if<Faults>(&parsed))
    return call.refuse(invalid_request(std::move(*faults)));
  auto& filter = std::get<EventFilter>(parsed);
  call.begin<EndStreams>(call.api.gateway, [&] {
    call.send(FollowJobs{std::move(filter.customer), std::move(filter.product),
                         last_event_id(call.request), call.responder, only_customer});
  });
}

// --- Cells ---------------------------------------------------------------------------------------

void get_cell(const Call& call, const cells::CellKey& key) {
  if (const auto problem = refuse_any_query(call.request)) return call.refuse(*problem);
  call.send(GetCell{key, call.responder});
}

void get_cells(const Call& call, const BoundCustomer& only_customer) {
  auto parsed = parse_cell_query(call.request.query);
  if (auto* faults = std::get_if<Faults>(&parsed))
    return call.refuse(invalid_request(std::move(*faults)));
  call.send(GetCells{std::get<cells::ListCells>(std::move(parsed)), call.responder, only_customer});
}

void put_pool(const Call& call, const cells::CellKey& key) {
  const auto parsed = parse_pool_change(call.request);
  if (const auto* problem = std::get_if<Problem>(&parsed)) return call.refuse(*problem);
  const auto& change = std::get<PoolChange>(parsed);
  call.audit->size = change.size;
  call.audit->burst = change.burst;
  call.audit->weight = change.weight;
  call.send(PutPool{{key, change.size, change.burst, change.weight}, call.responder});
}

void delete_pool(const Call& call, const cells::CellKey& key) {
  if (const auto problem = refuse_content(call.request)) return call.refuse(*problem);
  call.send(PutPool{{key, std::nullopt}, call.responder});
}

void put_quota(const Call& call, const cells::CellKey& key) {
  auto parsed = parse_quota(call.request);
  if (const auto* problem = std::get_if<Problem>(&parsed)) return call.refuse(*problem);
  call.send(PutQuota{key, std::get<cells::QuotaOverride>(std::move(parsed)), call.responder});
}

void delete_quota(const Call& call, const cells::CellKey& key) {
  if (const auto problem = refuse_content(call.request)) return call.refuse(*problem);
  call.send(PutQuota{key, {}, call.responder});
}

/// POST …/pause, …/drain and …/resume.
template <cells::CellState state>
void post_cell_state(const Call& call, const cells::CellKey& key) {
  if (const auto problem = refuse_content(call.request)) return call.refuse(*problem);
  call.send(PostCellState{key, state, call.responder});
}

// --- Workers outside -----------------------------------------------------------------------------

/// A service that the token does not name appears not to exist.
void post_leases(const Call& call, const WorkAccess& access) {
  const auto& service = call.request.captures[0];
  const auto settings = call.api.settings->get();
  const auto type = settings->service_types.find(service);
  const bool is_pull = type != settings->service_types.end() && type->second == "pull";
  if (!is_pull || !access.may_serve(service)) {
    return call.refuse(not_found("There is no such service of the type `pull`."));
  }
  auto parsed = parse_lease_order(call.request);
  if (const auto* problem = std::get_if<Problem>(&parsed)) return call.refuse(*problem);
  call.begin<EndWaits>(call.api.leases, [&] {
    call.send_brief([&] {
      call.send_to_leases(PostLeases{service, std::get<LeaseOrder>(std::move(parsed)),
                                     access.only_customer, call.responder});
    });
  });
}

void post_heartbeat(const Call& call, const WorkAccess& access) {
  auto parsed = parse_heartbeat(call.request);
  if (const auto* problem = std::get_if<Problem>(&parsed)) return call.refuse(*problem);
  call.send_to_leases(PostHeartbeat{
      call.request.captures[0], std::get<Heartbeat>(std::move(parsed)), access, call.responder});
}

/// POST …/complete and …/fail.
template <auto parse>
void post_end(const Call& call, const WorkAccess& access) {
  auto parsed = parse(call.request);
  if (const auto* problem = std::get_if<Problem>(&parsed)) return call.refuse(*problem);
  call.send_brief([&] {
    call.send_to_leases(PostEnd{call.request.captures[0],
                                std::get<cells::CallOutcome>(std::move(parsed)), access,
                                call.responder});
  });
}

void post_reports(const Call& call, const WorkAccess& access) {
  auto parsed = parse_reports(call.request);
  if (const auto* problem = std::get_if<Problem>(&parsed)) return call.refuse(*problem);
  call.send_to_leases(
      PostReports{std::get<std::vector<Report>>(std::move(parsed)), access, call.responder});
}

void get_leases(const Call& call, const WorkAccess& access) {
  auto parsed = parse_lease_query(call.request.query);
  if (auto* faults = std::get_if<Faults>(&parsed))
    return call.refuse(invalid_request(std::move(*faults)));
  auto& list = std::get<cells::ListLeases>(parsed);
  list.services = access.only_services;
  list.customer = access.only_customer;
  call.send_to_leases(GetLeases{std::move(list), call.responder});
}

void get_all_leases(const Call& call) {
  get_leases(call, {});
}

// --- The configuration ---------------------------------------------------------------------------

void get_services(const Call& call) {
  auto parsed = parse_service_query(call.request.query);
  if (auto* faults = std::get_if<Faults>(&parsed))
    return call.refuse(invalid_request(std::move(*faults)));
  call.send(GetServices{std::get<ListServicesByName>(std::move(parsed)), call.api.settings->get(),
                        call.responder});
}

void get_service(const Call& call) {
  if (const auto problem = refuse_any_query(call.request)) return call.refuse(*problem);
  call.send(GetService{call.request.captures[0], call.api.settings->get(), call.responder});
}

void reset_service(const Call& call) {
  if (const auto problem = refuse_content(call.request)) return call.refuse(*problem);
  call.send(PostServiceReset{call.request.captures[0], call.api.settings->get(), call.responder});
}

void get_config(const Call& call) {
  if (const auto problem = refuse_any_query(call.request)) return call.refuse(*problem);
  call.responder.answer(json_response(call.api.settings->get()->shown));
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

void post_reload(const Call& call) {
  if (const auto problem = refuse_content(call.request)) return call.refuse(*problem);
  if (const auto problem = not_ready(call.api)) return call.refuse(*problem);
  call.api.reload([responder = call.responder](const ReloadOutcome& outcome) {
    responder.answer(reload_response(outcome));
  });
}

// --- Operation -----------------------------------------------------------------------------------

void get_livez(const Call& call) {
  if (const auto problem = refuse_any_query(call.request)) return call.refuse(*problem);
  call.responder.answer(json_response(R"({"status":"ok"})"));
}

void get_readyz(const Call& call) {
  if (const auto problem = refuse_any_query(call.request)) return call.refuse(*problem);
  if (const auto problem = not_ready(call.api)) return call.refuse(*problem);
  call.responder.answer(json_response(R"({"status":"ready"})"));
}

void get_backup(const Call& call) {
  if (const auto problem = refuse_any_query(call.request)) return call.refuse(*problem);
  if (const auto problem = not_ready(call.api)) return call.refuse(*problem);
  caf::anon_send(call.api.backup_sender, SendBackup{call.responder});
}

void get_metrics(const Call& call) {
  if (const auto problem = refuse_any_query(call.request)) return call.refuse(*problem);
  call.api.scrape(call.responder);
}

void get_openapi(const Call& call) {
  if (const auto problem = refuse_any_query(call.request)) return call.refuse(*problem);
  call.responder.answer(json_response(std::string(openapi_json())));
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

/// Adds endpoints, and decides in one place what a token that is bound to a customer may see there:
/// each of its functions passes a handler no more than that. Without a scope, an endpoint is open
/// to every client.
class Admission {
 public:
  Admission(http::Server& server, Api api) : server_(server), api_(std::move(api)) {}

  /// For an endpoint that covers all customers: refuses tokens that are bound to one.
  void of_all(const char* method, const char* pattern, std::optional<Scope> scope,
              void (*handler)(const Call&)) {
    add(method, pattern, scope, [handler](const Call& call, const BoundCustomer& only_customer) {
      if (!only_customer) return handler(call);
      if (call.audit != nullptr) call.audit->admitted = false;
      call.refuse(
          {.kind = ProblemKind::missing_scope,
           .detail = "The token is bound to a customer, but this endpoint covers all customers."});
    });
  }

  /// The handler restricts what it does to the customer that it receives.
  void of_customer(const char* method, const char* pattern, Scope scope,
                   void (*handler)(const Call&, const BoundCustomer&)) {
    add(method, pattern, scope, handler);
  }

  /// For workers outside. The handler restricts what it does to the customer and the services that
  /// it receives.
  void of_worker(const char* method, const char* pattern, Scope scope,
                 void (*handler)(const Call&, const WorkAccess&)) {
    add(method, pattern, scope, [handler](const Call& call, const BoundCustomer& only_customer) {
      handler(call, {only_customer, call.access.services_of(call.request)});
    });
  }

  /// The first `{}` is a job. NamedJob::visible hides those of other customers. A text that is not
  /// an id names no job.
  void of_job(const char* method, const char* pattern, Scope scope,
              void (*handler)(const Call&, const NamedJob&)) {
    add(method, pattern, scope, [handler](const Call& call, const BoundCustomer& only_customer) {
      const auto id = cells::parse_job_id(call.request.captures[0]);
      handler(call, NamedJob{id.value_or(0), only_customer});
    });
  }

  /// The first `{}` is a batch, which the handler hides from clients that may not see it.
  void of_batch(const char* method, const char* pattern, Scope scope,
                void (*handler)(const Call&, const NamedBatch&)) {
    add(method, pattern, scope, [handler](const Call& call, const BoundCustomer& only_customer) {
      const auto id = cells::parse_job_id(call.request.captures[0]);
      handler(call,
              NamedBatch{id.value_or(0), client_of(call.access, call.request, only_customer)});
    });
  }

  /// A request whose body is read as it arrives. The handler restricts it to the customer.
  void of_stream(const char* method, const char* path, Scope scope,
                 decltype(receive_batch)* handler) {
    server_.handle_stream(
        method, path,
        [api = api_, scope, handler](
            const Request& request, const Responder& responder,
            std::shared_ptr<http::BodyFlow> flow) -> std::unique_ptr<http::BodySink> {
          const auto settings = api.settings->get();
          const auto admitted = settings->access.admit(request, scope);
          if (const auto* problem = std::get_if<Problem>(&admitted)) {
            responder.answer(to_response(*problem));
            return nullptr;
          }
          const auto& only_customer = std::get<BoundCustomer>(admitted);
          return handler(api, request, responder, std::move(flow),
                         client_of(settings->access, request, only_customer), only_customer);
        });
  }

  /// The first two `{}` are the customer and the product of a cell. A cell that the request may not
  /// see becomes between_cells, a key that no cell has.
  void of_cell(const char* method, const char* pattern, Scope scope,
               void (*handler)(const Call&, const cells::CellKey&)) {
    add(method, pattern, scope, [handler](const Call& call, const BoundCustomer& only_customer) {
      const cells::CellKey key{call.request.captures[0], call.request.captures[1]};
      handler(call, may_see(only_customer, key.customer) ? key : cells::between_cells);
    });
  }

 private:
  template <class Handler>
  void add(const char* method, const char* pattern, std::optional<Scope> scope, Handler handler) {
    server_.handle(
        method, pattern,
        [api = api_, scope, handler](const Request& request, const Responder& responder) {
          const auto settings = api.settings->get();
          const auto admitted = settings->access.admit(request, scope);
          std::shared_ptr<AdminCall> record;
          if (scope == Scope::admin) record = audit(api, settings->access, request, responder);
          const Call call{api, request, responder, settings->access, record.get()};
          if (const auto* problem = std::get_if<Problem>(&admitted)) {
            if (record) record->admitted = false;
            return call.refuse(*problem);
          }
          handler(call, std::get<BoundCustomer>(admitted));
        });
  }

  http::Server& server_;
  const Api api_;
};

}  // namespace

void add_endpoints(http::Server& server, const Api& api) {
  Admission add{server, api};
  add.of_customer("POST", "/v1/jobs", Scope::submit, post_job);
  add.of_customer("GET", "/v1/jobs", Scope::read, get_jobs);
  add.of_job("GET", "/v1/jobs/{}", Scope::read, get_job);
  add.of_job("POST", "/v1/jobs/{}/cancel", Scope::submit, post_order<PostCancel>);
  add.of_job("POST", "/v1/jobs/{}/retry", Scope::submit, post_order<PostRetry>);
  add.of_job("GET", "/v1/jobs/{}/events", Scope::read, follow_job);
  add.of_stream("POST", "/v1/batches", Scope::submit, receive_batch);
  add.of_customer("GET", "/v1/batches", Scope::read, get_batches);
  add.of_batch("GET", "/v1/batches/{}", Scope::read, get_batch);
  add.of_batch("POST", "/v1/batches/{}/cancel", Scope::submit, cancel_batch);
  add.of_customer("GET", "/v1/schedules", Scope::read, get_schedules);
  add.of_customer("GET", "/v1/schedules/{}", Scope::read, get_schedule);
  add.of_customer("PUT", "/v1/schedules/{}", Scope::submit, put_schedule);
  add.of_customer("DELETE", "/v1/schedules/{}", Scope::submit, delete_schedule);
  add.of_customer("GET", "/v1/events", Scope::read, follow_jobs);
  add.of_customer("GET", "/v1/cells", Scope::read, get_cells);
  add.of_cell("GET", "/v1/cells/{}/{}", Scope::read, get_cell);
  add.of_cell("PUT", "/v1/admin/cells/{}/{}/pool", Scope::admin, put_pool);
  add.of_cell("DELETE", "/v1/admin/cells/{}/{}/pool", Scope::admin, delete_pool);
  add.of_cell("PUT", "/v1/admin/cells/{}/{}/quota", Scope::admin, put_quota);
  add.of_cell("DELETE", "/v1/admin/cells/{}/{}/quota", Scope::admin, delete_quota);
  add.of_cell("POST", "/v1/admin/cells/{}/{}/pause", Scope::admin,
              post_cell_state<cells::CellState::paused>);
  add.of_cell("POST", "/v1/admin/cells/{}/{}/drain", Scope::admin,
              post_cell_state<cells::CellState::draining>);
  add.of_cell("POST", "/v1/admin/cells/{}/{}/resume", Scope::admin,
              post_cell_state<cells::CellState::active>);
  add.of_worker("POST", "/v1/services/{}/leases", Scope::work, post_leases);
  add.of_worker("POST", "/v1/leases/{}/heartbeat", Scope::work, post_heartbeat);
  add.of_worker("POST", "/v1/leases/{}/complete", Scope::work, post_end<parse_completion>);
  add.of_worker("POST", "/v1/leases/{}/fail", Scope::work, post_end<parse_failure>);
  add.of_worker("POST", "/v1/leases/report", Scope::work, post_reports);
  add.of_worker("GET", "/v1/leases", Scope::work, get_leases);
  add.of_all("GET", "/v1/admin/leases", Scope::admin, get_all_leases);
  add.of_all("GET", "/v1/services", Scope::read, get_services);
  add.of_all("GET", "/v1/services/{}", Scope::read, get_service);
  add.of_all("POST", "/v1/admin/services/{}/reset", Scope::admin, reset_service);
  add.of_all("GET", "/v1/admin/config", Scope::admin, get_config);
  add.of_all("POST", "/v1/admin/reload", Scope::admin, post_reload);
  add.of_all("GET", "/v1/admin/backup", Scope::admin, get_backup);
  add.of_all("GET", "/livez", std::nullopt, get_livez);
  add.of_all("GET", "/readyz", std::nullopt, get_readyz);
  add.of_all("GET", "/metrics", Scope::read, get_metrics);
  add.of_all("GET", "/openapi.json", std::nullopt, get_openapi);
}

}  // namespace celld::api
