#include "src/config/show.hpp"
#include "src/providers/kinds.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tests/unit/catch.hpp"

using namespace celld;
using config::Config;

namespace {

config::Environment environment() {
  return {[](const std::string& name) -> std::optional<std::string> {
            if (name == "KEY") return "secret-of-env";
            return std::nullopt;
          },
          [](const std::string& path) -> config::FileText {
            if (path == "/run/key") return {.content = "secret-of-file\n"};
            return {.fault = "cannot be read"};
          }};
}

Config parsed(std::string_view text) {
  auto outcome = config::parse_config(text, providers::service_kinds(), environment());
  if (const auto* faults = std::get_if<std::vector<json::Fault>>(&outcome))
    for (const auto& fault : *faults) FAIL(fault.pointer << ": " << fault.detail);
  return std::get<Config>(std::move(outcome));
}

json::Value shown(const Config& config) {
  return std::get<json::Document>(json::parse(config::show(config))).value;
}

/// Every member that a configuration can have, with no value that is masked.
constexpr std::string_view without_secrets = R"({
  "listen": {"host": "::1", "port": 8443,
             "tls": {"certificate": "c.pem", "key": "k.pem", "client_ca": "ca.pem"}},
  "store": {"type": "sqlite", "path": "jobs.db"},
  "services": {
    "dns": {"type": "http", "url": "http://h:9000/dns", "settle_ms": 7,
            "headers": {"X-A": "env:KEY", "X-B": "file:/run/key"},
            "limits": {"concurrency": 9, "rate_per_s": 2.5, "burst": 11},
            "circuit": {"failures": 12, "window_ms": 13, "open_ms": 14, "hold_max_ms": 15}},
    "vm": {"type": "pull", "limits": {"rate_per_s": 1000}, "undo": {}},
    "rest": {"type": "http", "url": "http://h:9000/api", "headers": {}, "settle_ms": 0,
             "mapping": {"secrets": {"key": "env:KEY"}, "error": {"code": "/c", "message": "/m"},
                         "actions": {
                           "create": [{"method": "PUT", "path": "/{{entity.id}}",
                                       "query": {"q": "{{job}}"}, "body": {"a": [1, "{{job}}"]},
                                       "headers": {"X": "{{secrets.key}}"},
                                       "answer": {"done": [201, "3xx"], "already_done": [409],
                                                  "retry": [404], "reject": ["5xx"],
                                                  "properties": {"id": "/id"},
                                                  "messages": {"/n": "info"},
                                                  "error": {"code": "/d"}}}],
                           "delete": {"method": "POST", "path": "", "form": {"a": true}}},
                         "undo": {"create": {"method": "DELETE", "path": "/{{entity.id}}"}}}},
    "db": {"type": "command", "argv": ["/bin/sh", "-c", "true"], "settle_ms": 8,
           "env": {"PASSWORD": "file:/run/key"}, "undo": {"argv": ["/bin/false"]}},
    "mail": {"type": "http", "url": "http://h/mail", "undo": {"url": "http://h/undo"}},
    "demo": {"type": "simulated", "latency_ms": {"min": 1, "max": 20}, "failure_rate": 0.125,
             "seed": 9223372036854775807, "undo": {"failure_rate": 0.5}}},
  "defaults": {"pool": {"size": 3}},
  "cells": [
    {"customer": "acme", "pool": {"size": 16, "burst": 17, "weight": 2}, "timeout_ms": 5000, "timeout_max_ms": 6000,
     "queue": {"max_jobs": 10, "max_bytes": 70003, "submissions_per_s": 2.5,
               "submissions_burst": 7},
     "durability": "memory", "on_stop": "keep", "on_predecessor_failed": "cancel",
     "priority_step_ms": 1500,
     "customers": {"weights": {"gold": 4, "*": 2},
                   "quota": {"max_jobs": 11, "max_bytes": 70005, "max_running": 2,
                             "submissions_per_s": 0.5, "submissions_burst": 3}},
     "retry": {"max_attempts": 2, "backoff_ms": 3, "backoff_max_ms": 4}},
    {"product": "mail", "per": ["customer"]},
    {"product": "*", "customer": "*", "per": ["customer", "product"]}],
  "limits": {"max_head_bytes": 8192, "max_headers": 20, "max_uri_bytes": 2048,
             "max_body_bytes": 70000, "head_timeout_ms": 1001, "body_timeout_ms": 1002,
             "idle_timeout_ms": 1003, "write_timeout_ms": 1004, "max_connections": 100,
             "max_stream_backlog_bytes": 70001, "max_unsent_bytes": 70002},
  "capacity": {"memory_max_bytes": 70004, "running_max": 70005},
  "schedules": {
    "hourly": {"every_ms": 3600000, "job": {"customer": "acme", "product": "dns", "action": "a",
               "entity": {"type": "t", "id": "i"}, "services": ["dns"]}},
    "nightly": {"cron": "30 2 * * *", "time_zone": "Europe/Berlin", "overlap": "allow",
                "catch_up": "none", "paused": true,
                "job": {"customer": "acme", "product": "dns", "action": "a", "priority": 9,
                        "entity": {"type": "t", "subtype": "s", "id": "i"},
                        "services": ["dns", "db"], "parameters": {"a": [1, null]},
                        "timeout_ms": 5999, "retry": {"max_attempts": 3}, "labels": {"k": "v"},
                        "expires_at": "2031-02-03T04:05:06.789Z"}}},
  "retention_ms": 12345, "shutdown_grace_ms": 54321})";

}  // namespace

TEST_CASE("a configuration without literal secrets is shown completely") {
  const Config before = parsed(without_secrets);
  const Config after = parsed(config::show(before));
  CHECK(after.listen == before.listen);
  CHECK(after.store == before.store);
  CHECK(after.services == before.services);
  CHECK(after.cells == before.cells);
  CHECK(after.limits == before.limits);
  CHECK(after.capacity == before.capacity);
  CHECK(after.capacity.memory_bytes_max == 70'004);
  CHECK(after.schedules == before.schedules);
  CHECK(after.schedules.at("nightly").timing.time_zone == "Europe/Berlin");
  CHECK(after.cells[0].settings.durability == cells::Durability::memory);
  CHECK(after.cells[0].settings.customer == cells::CustomerQuota{11, 70'005, 2, {0.5, 3}});
  CHECK(after.cells[0].settings.submissions == cells::RateQuota{2.5, 7});
  CHECK(after.cells[0].settings.weights.weight_of("gold") == 4);
  CHECK(after.cells[0].settings.weights.weight_of("acme") == 2);
  CHECK(after.cells[0].settings.priority_step == cells::milliseconds{1500});
  CHECK(after.retention == before.retention);
  CHECK(after.shutdown_grace == before.shutdown_grace);
}

TEST_CASE("omitted members are shown with their defaults") {
  const Config before = parsed(R"({"services":{},"cells":[{}]})");
  const auto value = shown(before);
  CHECK(value["listen"] == json::Value{{"host", "127.0.0.1"}, {"port", 8080}});
  CHECK(value["cells"][0]["customer"] == "*");
  CHECK(value["cells"][0]["pool"] == json::Value{{"size", 4}, {"weight", 1}});
  CHECK(value["retention_ms"] == 604'800'000);
  CHECK_FALSE(value.contains("auth"));
  CHECK(parsed(config::show(before)).cells == before.cells);
}

TEST_CASE("no secret is shown") {
  const auto config = parsed(R"({
    "services": {
      "dns": {"type": "http", "url": "http://h/dns?key=secret-of-url",
              "headers": {"X-A": "secret-itself", "X-B": "env:KEY", "X-C": "file:/run/key"}},
      "undo": {"type": "http", "url": "http://h/a?key=secret-of-url", "undo": {}},
      "other": {"type": "http", "url": "http://h/b",
                "undo": {"url": "http://h/undo?key=secret-of-undo"}},
      "db": {"type": "command", "argv": ["/bin/true"],
             "env": {"A": "secret-itself", "B": "env:KEY", "C": "file:/run/key"}}},
    "cells": [{}],
    "auth": {"tokens": [{"name": "portal", "scopes": ["read", "submit", "work"],
      "customer": "acme", "services": ["dns", "db"],
      "sha256": "c0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ff"}]}})");
  const std::string text = config::show(config);
  CHECK(text.find("secret") == std::string::npos);
  CHECK(text.find("c0ffee") == std::string::npos);
  const auto value = shown(config);
  const json::Value& dns = value["services"]["dns"];
  CHECK(dns["url"] == "http://h/dns?***");
  CHECK(dns["headers"] ==
        json::Value{{"X-A", "***"}, {"X-B", "env:KEY"}, {"X-C", "file:/run/key"}});
  CHECK(value["services"]["other"]["undo"]["url"] == "http://h/undo?***");
  CHECK(value["services"]["db"]["env"] ==
        json::Value{{"A", "***"}, {"B", "env:KEY"}, {"C", "file:/run/key"}});
  CHECK(value["auth"]["tokens"][0] == json::Value{{"name", "portal"},
                                                  {"sha256", "***"},
                                                  {"scopes", {"submit", "read", "work"}},
                                                  {"customer", "acme"},
                                                  {"services", {"db", "dns"}}});
}
