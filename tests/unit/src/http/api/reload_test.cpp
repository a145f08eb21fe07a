// Reloads, the configuration and the services, over the API.
#include "src/http/api/reload.hpp"

#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "src/http/api/service_json.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/api/daemon.hpp"

using namespace celld;
using namespace celld::api;
using namespace celld::api::testing;

namespace {

json::Value body_of(const http::Response& response) {
  return std::get<json::Document>(json::parse(response.body)).value;
}

Answer post_reload(const Daemon& daemon, const std::string& body = "") {
  return post(daemon, body, {}, "application/json", "/v1/admin/reload");
}

}  // namespace

TEST_CASE("a reload is answered once it is done, and other requests are served meanwhile") {
  Daemon daemon;
  daemon.readiness->state = ReadyState::ready;
  std::promise<ReloadAnswer> promise;
  auto asked = promise.get_future();
  daemon.on_reload = [&](ReloadAnswer done) { promise.set_value(std::move(done)); };
  auto answer = std::async(std::launch::async, [&] { return post_reload(daemon); });
  REQUIRE(asked.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  const ReloadAnswer done = asked.get();
  CHECK(get(daemon, "/livez").status == 200);
  CHECK(answer.wait_for(std::chrono::milliseconds(0)) == std::future_status::timeout);
  ReloadReport report;
  report.changes.cells.added = {{"acme", "*"}};
  report.changes.services.removed = {"dns"};
  report.changes.settings = {"/auth"};
  report.changes.restart_required = {"/store"};
  report.masked = {{{"acme", "dns"}, "pool.size", 4, 8},
                   {{"acme", "dns"}, "queue.submissions_per_s", {}, 0.5}};
  done(report);
  const Answer got = answer.get();
  CHECK(got.status == 200);
  CHECK(got.header("Content-Type") == "application/json");
  CHECK(got.body == json::Value::parse(R"({
      "changed": {"cells": {"added": [{"customer": "acme", "product": "*"}], "changed": [],
                            "removed": []},
                  "services": {"added": [], "changed": [], "removed": ["dns"]},
                  "settings": ["/auth"]},
      "masked": [{"cell": {"customer": "acme", "product": "dns"}, "setting": "pool.size",
                  "configured": 4, "in_force": 8},
                 {"cell": {"customer": "acme", "product": "dns"},
                  "setting": "queue.submissions_per_s", "configured": null, "in_force": 0.5}],
      "restart_required": ["/store"]})"));
}

TEST_CASE("a reload during a shutdown is refused") {
  const auto response = reload_response(ReloadRefused{});
  CHECK(response.status == 503);
  CHECK(body_of(response)["type"] == "/problems/draining");
}

TEST_CASE("a reload of a file with faults is a problem that lists them all") {
  const std::vector<json::Fault> faults = {{"", "cannot be read"}, {"/cells/0/x", "is unknown"}};
  const auto response = reload_response(faults);
  CHECK(response.status == 422);
  CHECK(response.content_type == "application/problem+json");
  const auto problem = body_of(response);
  CHECK(problem["type"] == "/problems/invalid-configuration");
  CHECK(problem["errors"] == json::Value::parse(R"([{"pointer": "", "detail": "cannot be read"},
      {"pointer": "/cells/0/x", "detail": "is unknown"}])"));
}

TEST_CASE("a reload takes no parameters") {
  Daemon daemon;
  daemon.readiness->state = ReadyState::ready;
  CHECK(post_reload(daemon, R"({"force":true})").status == 422);
  CHECK(post(daemon, "", {}, "application/json", "/v1/admin/reload?x=1").status == 422);
  CHECK(post_reload(daemon, "{").status == 400);
}

TEST_CASE("a reload is refused while celld starts or shuts down") {
  Daemon daemon;
  daemon.readiness->state = ReadyState::shutting_down;
  CHECK(post_reload(daemon).body["type"] == "/problems/draining");
  daemon.readiness->state = ReadyState::starting;
  CHECK(post_reload(daemon).status == 503);
}

TEST_CASE("the configuration in force is shown") {
  Daemon daemon;
  const Answer answer = get(daemon, "/v1/admin/config");
  CHECK(answer.status == 200);
  CHECK(answer.body == json::Value{{"shown", "as it is"}});
  CHECK(get(daemon, "/v1/admin/config?x=1").status == 422);
}

TEST_CASE("the services are listed with the engine's figures") {
  Daemon daemon;
  daemon.script->list_services = [](const cells::ListServices&) {
    cells::ServicesListed listed;
    listed.services["dns"] = {3, 1.23456};
    listed.services["gone"] = {1, 0};
    return listed;
  };
  const Answer answer = get(daemon, "/v1/services");
  CHECK(answer.status == 200);
  CHECK(answer.body == json::Value::parse(R"({"items": [
      {"service": "dns", "type": "http", "limits": {}, "in_flight": 3, "waiting": 0,
       "rates": {"ended_per_s": 1.235}, "circuit": {"state": "closed", "since": null, "why": null},
       "held_until": null}
      ], "next_cursor": null})"));
  CHECK(get(daemon, "/v1/services?x=1").status == 422);
  CHECK(get(daemon, "/v1/services?limit=0").status == 422);
  CHECK(get(daemon, "/v1/services?cursor=a%20b").status == 422);
}

TEST_CASE("a list of services has pages") {
  Daemon daemon;
  daemon.script->list_services = [](const cells::ListServices&) {
    cells::ServicesListed listed;
    for (const auto* name : {"dns", "gone", "new", "vm"}) listed.services[name] = {};
    return listed;
  };
  const auto page = [&](const std::string& query) {
    const auto body = get(daemon, "/v1/services" + query).body;
    std::vector<std::string> names;
    for (const auto& item : body["items"]) names.push_back(item["service"]);
    return std::pair{names, body["next_cursor"]};
  };
  using Names = std::vector<std::string>;
  CHECK(page("?limit=2") == std::pair{Names{"dns", "new"}, json::Value("new")});
  CHECK(page("?limit=2&cursor=new") == std::pair{Names{"vm"}, json::Value()});
  CHECK(page("?limit=3") == std::pair{Names{"dns", "new", "vm"}, json::Value()});
  CHECK(page("?cursor=vm") == std::pair{Names{}, json::Value()});
}

TEST_CASE("a list of services is a 503 if the engine fails") {
  Daemon daemon;
  CHECK(get(daemon, "/v1/services").status == 503);
}

namespace {

cells::ServicesListed protected_dns() {
  cells::ServiceStatus status;
  status.protection.limits = {8, 2.5, 40};
  status.in_flight = 1;
  status.waiting = 120;
  status.circuit = cells::CircuitState::half_open;
  status.circuit_since = cells::WallTime{std::chrono::seconds(1)};
  status.circuit_why = "it failed";
  status.paused_until = cells::WallTime{std::chrono::seconds(2)};
  return {{{"dns", status}}};
}

}  // namespace

TEST_CASE("a service is shown with its limits and its circuit") {
  Daemon daemon;
  std::optional<std::string> asked;
  daemon.script->list_services = [&](const cells::ListServices& message) {
    asked = message.only;
    return protected_dns();
  };
  const Answer answer = get(daemon, "/v1/services/dns");
  CHECK(asked == "dns");
  CHECK(answer.status == 200);
  CHECK(answer.body == json::Value::parse(R"({"service": "dns", "type": "http",
       "limits": {"concurrency": 8, "rate_per_s": 2.5, "burst": 40}, "in_flight": 1,
       "waiting": 120, "rates": {"ended_per_s": 0.0},
       "circuit": {"state": "half_open", "since": "1970-01-01T00:00:01.000Z", "why": "it failed"},
       "held_until": "1970-01-01T00:00:02.000Z"})"));
  CHECK(get(daemon, "/v1/services/dns?x=1").status == 422);
}

TEST_CASE("a service that is not configured, or whose client is not there, is not found") {
  Daemon daemon;
  daemon.script->list_services = [](const cells::ListServices&) {
    cells::ServicesListed listed;
    listed.services["gone"] = {};
    return listed;
  };
  CHECK(get(daemon, "/v1/services/gone").status == 404);
  CHECK(get(daemon, "/v1/services/dns").status == 404);
}

TEST_CASE("a service is reset") {
  Daemon daemon;
  std::string reset;
  daemon.script->reset_service = [&](const cells::ResetService& message) {
    reset = message.service;
    return protected_dns();
  };
  const std::string path = "/v1/admin/services/dns/reset";
  const Answer answer = post(daemon, "", {}, "application/json", path);
  CHECK(answer.status == 200);
  CHECK(answer.body["service"] == "dns");
  CHECK(reset == "dns");
  reset.clear();
  CHECK(post(daemon, R"({"x":1})", {}, "application/json", path).status == 422);
  CHECK(reset.empty());
}
