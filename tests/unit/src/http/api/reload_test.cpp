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
  report.masked = {{{"acme", "dns"}, 4, 8}};
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
                  "configured": 4, "in_force": 8}],
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
       "rates": {"ended_per_s": 1.235}, "circuit": {"state": "closed", "since": null, "why": null}}
      ], "next_cursor": null})"));
  CHECK(get(daemon, "/v1/services?limit=1").status == 422);
}

TEST_CASE("a list of services is a 503 if the engine fails") {
  Daemon daemon;
  CHECK(get(daemon, "/v1/services").status == 503);
}
