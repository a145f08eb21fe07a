// celld without its engine: a real server, the endpoints and the gateway, with an engine and a
// store that the test scripts. And a client for it.
#pragma once

#include <httplib.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "src/http/api/endpoints.hpp"
#include "src/http/api/gateway.hpp"
#include "src/http/api/problem.hpp"
#include "src/json/json.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/api/fake_engine.hpp"

namespace celld::api::testing {

inline constexpr auto wall_now = cells::WallTime(std::chrono::milliseconds(1795214576123));

inline const LeaseNames lease_names{{1, 2}};

/// Shuts down in the same order as the real daemon.
class Daemon {
 public:
  explicit Daemon(bool attached = true, const BatchLimits& batch_limits = {},
                  std::vector<config::Token> tokens = {})
      : desk_(spawn_batch_desk(
            system_, [] { return wall_now; }, figures, batch_limits)),
        server_(http::Limits{}, refuse) {
    auto settings = std::make_shared<Settings>();
    settings->rules.services = {"dns"};
    settings->service_types = {{"dns", "http"}, {"new", "simulated"}, {"vm", "pull"}};
    settings->access = AccessControl{std::move(tokens)};
    settings->shown = R"({"shown":"as it is"})";
    settings->rules.routing = std::make_shared<cells::Routing>(std::vector<cells::CellRule>{{}});
    script->observer = gateway_;
    script->submit = [this](const cells::SubmitJob& message) {
      last_request = message.request;
      return cells::JobSubmitted{std::make_shared<cells::Job>(cells::accept_job(
                                     message.request, {}, {}, ids_.next(wall_now), wall_now)),
                                 std::nullopt, false};
    };
    script_batches();
    if (attached) attach();
    const auto scrape = [](const http::Responder& responder) {
      responder.answer({200, "text/plain", "up 1\n", {}});
    };
    const auto reload = [this](ReloadAnswer answer) {
      const std::lock_guard lock{script_mutex};
      on_reload(std::move(answer));
    };
    settings_ = std::make_shared<LiveSettings>(settings);
    const auto help_actors = [this](const std::function<void()>& send) {
      {
        const std::lock_guard lock{script_mutex};
        on_help();
      }
      send();
    };
    add_endpoints(
        server_,
        {gateway_, leases_, settings_, readiness, scrape, reload, {}, {}, desk_, {}, help_actors});
    const auto [port, error] = server_.bind("127.0.0.1", 0);
    if (!error.empty()) FAIL(error);
    port_ = port;
    server_.start();
  }

  ~Daemon() {
    stop_gateway();
    caf::anon_send(desk_, EndReading{});
    caf::anon_send(desk_, ReleaseBatchWaiters{});
    server_.stop(std::chrono::milliseconds(5000));
    script->observer = nullptr;
    caf::anon_send_exit(leases_, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(dispatcher_, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(reader_, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(desk_, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(batch_store_, caf::exit_reason::user_shutdown);
  }

  void attach() {
    caf::anon_send(gateway_, ServeEngine{dispatcher_, reader_});
    caf::anon_send(desk_, ServeBatches{dispatcher_, reader_, batch_store_});
  }
  void stop_gateway() { caf::anon_send_exit(gateway_, caf::exit_reason::user_shutdown); }
  /// Makes all later reads of the store fail. May be called on any thread.
  void stop_reader() { caf::anon_send_exit(reader_, caf::exit_reason::user_shutdown); }
  void notify(const cells::JobPtr& job) { caf::anon_send(gateway_, cells::JobChanged{job}); }
  /// As a reload does that changes tokens.
  void change_tokens(std::vector<config::Token> tokens) {
    auto settings = std::make_shared<Settings>(*settings_->get());
    settings->access = AccessControl{std::move(tokens)};
    settings_->set(settings);
    caf::anon_send(gateway_, EndStreams{});
    caf::anon_send(leases_, EndWaits{});
    caf::anon_send(desk_, CheckRefusals{});
  }
  void stop_leasing() { caf::anon_send(leases_, StopLeasing{}); }
  void send(ReleaseWaiters message) { caf::anon_send(gateway_, message); }
  void send(EndReading message) { caf::anon_send(desk_, message); }
  void send(ReleaseBatchWaiters message) { caf::anon_send(desk_, message); }

  httplib::Client client() const {
    sync_with_script();
    httplib::Client made("127.0.0.1", port_);
    made.set_read_timeout(20, 0);
    return made;
  }
  std::uint16_t port() const { return port_; }

 private:
  /// A store that has the batch that was opened last.
  void script_batches() {
    script->open_batch = [this](const cells::OpenBatch& message) {
      batch = cells::Batch{};
      batch.id = message.id;
      batch.owner = message.owner;
      return cells::BatchOpened{true};
    };
    script->close_batch = [this](const cells::CloseBatch& message) {
      close(batch, message.now);
      return cells::BatchClosed{batch};
    };
    script->mark_cancelled = [](const cells::MarkCancelled&) {
      return cells::CancelledMarked{true};
    };
    script->find_batch = [this](const cells::FindBatch& message) {
      return cells::BatchFound{batch.id == message.id ? std::optional{batch} : std::nullopt};
    };
    script->list_batches = [](const cells::ListBatches&) { return cells::BatchesListed{}; };
    script->list_jobs = [](const cells::ListJobs&) { return cells::JobsListed{}; };
  }

  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  cells::JobIdSource ids_;

 public:
  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::shared_ptr<Readiness> readiness = std::make_shared<Readiness>();
  std::shared_ptr<BatchFigures> figures = std::make_shared<BatchFigures>();
  cells::JobRequest last_request;
  cells::Batch batch;                           ///< The one that was opened last.
  std::function<void(ReloadAnswer)> on_reload;  ///< Called with script_mutex held.
  /// Called with script_mutex held, before a message that leads to brief work.
  std::function<void()> on_help = [] {};

 private:
  Gateway gateway_ = spawn_gateway(system_, [] { return wall_now; }, 3);
  cells::CellDispatcher dispatcher_ = spawn_dispatcher(system_, script);
  cells::JobReader reader_ = spawn_reader(system_, script);
  LeaseGateway leases_ =
      spawn_lease_gateway(system_, {dispatcher_, reader_, lease_names, [] { return wall_now; }});
  BatchStore batch_store_ = spawn_batch_store(system_, script);
  BatchDesk desk_;
  std::shared_ptr<LiveSettings> settings_;
  http::Server server_;
  std::uint16_t port_ = 0;
};

struct Answer {
  int status = 0;
  httplib::Headers headers;
  json::Value body;

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

/// Throws if there was no answer. For any thread, as Catch2's own macros are not.
inline Answer answer_of(const httplib::Result& result) {
  if (!result) throw std::runtime_error("no answer: " + httplib::to_string(result.error()));
  sync_with_script();
  auto parsed = json::parse(result->body);
  const bool has_body = std::holds_alternative<json::Document>(parsed);
  return {result->status, result->headers,
          has_body ? std::get<json::Document>(parsed).value : json::Value()};
}

inline const std::string good_job =
    R"({"customer":"acme","product":"dns","action":"create",)"
    R"("entity":{"type":"zone","id":"example.com"},"services":["dns"]})";

inline Answer post(const Daemon& daemon, const std::string& body,
                   const httplib::Headers& headers = {},
                   const std::string& type = "application/json",
                   const std::string& path = "/v1/jobs") {
  return answer_of(daemon.client().Post(path, headers, body, type));
}

inline Answer get(const Daemon& daemon, const std::string& path) {
  return answer_of(daemon.client().Get(path));
}

inline Answer put_pool(const Daemon& daemon, const std::string& path, const std::string& body) {
  return answer_of(daemon.client().Put(path, body, "application/json"));
}

}  // namespace celld::api::testing
