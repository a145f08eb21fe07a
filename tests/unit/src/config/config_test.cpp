#include "src/config/config.hpp"
#include "src/providers/command/settings.hpp"
#include "src/providers/http/settings.hpp"
#include "src/providers/kinds.hpp"
#include "src/providers/simulated/settings.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/catch.hpp"

using namespace celld;
using config::Config;
using json::Fault;
using Faults = std::vector<Fault>;
using std::chrono::milliseconds;

namespace {

config::Environment environment() {
  return {[](const std::string& name) -> std::optional<std::string> {
            if (name == "DNS_KEY") return "s3cret";
            if (name == "EMPTY") return "";
            if (name == "SPLIT") return "a\r\nX-Evil: 1";
            return std::nullopt;
          },
          [](const std::string& path) -> config::FileText {
            if (path == "/run/secrets/key") return {.content = "from file\n"};
            if (path == "/run/secrets/two") return {.content = "two\n\n"};
            if (path == "/run/secrets/dos") return {.content = "dos\r\n"};
            if (path == "/run/secrets/full") return {.content = std::string(64 << 10, 'x')};
            if (path == "/run/secrets/more") return {.content = std::string((64 << 10) + 1, 'x')};
            if (path == "/run/secrets/nul") return {.content = std::string("a\0b", 3)};
            return {.fault = "cannot be read"};
          }};
}

Config good(std::string_view text, const config::Overrides& overrides = {}) {
  auto outcome = config::parse_config(text, providers::service_kinds(), environment(), overrides);
  if (const auto* faults = std::get_if<Faults>(&outcome))
    for (const Fault& fault : *faults) FAIL(fault.pointer << ": " << fault.detail);
  return std::get<Config>(std::move(outcome));
}

Faults bad(std::string_view text, const config::Overrides& overrides = {}) {
  auto outcome = config::parse_config(text, providers::service_kinds(), environment(), overrides);
  if (std::holds_alternative<Config>(outcome)) return {};
  return std::get<Faults>(std::move(outcome));
}

/// The faults of a configuration that is valid except for this service.
Faults bad_service(const std::string& service) {
  return bad(R"({"cells":[],"services":{"s":)" + service + "}}");
}
Faults bad_url(const std::string& url) {
  return bad_service(R"({"type":"http","url":")" + url + "\"}");
}
Faults bad_headers(const std::string& headers) {
  return bad_service(R"({"type":"http","url":"http://h/","headers":)" + headers + "}");
}
Faults bad_cells(const std::string& cells) {
  return bad(R"({"services":{},"cells":)" + cells + "}");
}
Faults bad_host(const std::string& host) {
  return bad(R"({"services":{},"cells":[],"listen":{"host":")" + host + "\"}}");
}

}  // namespace

TEST_CASE("a full configuration is read as written") {
  const Config config = good(R"({
    "listen": {"host": "localhost", "port": 0},
    "store": {"type": "sqlite", "path": "jobs.db", "recent_jobs": 5000},
    "services": {
      "web": {"type": "http", "url": "https://api.example:8443/x?y=1", "settle_ms": 250,
              "headers": {"X-API-Key": "env:DNS_KEY", "X-File": "file:/run/secrets/key",
                          "X-Plain": "plain"}},
      "demo": {"type": "simulated", "latency_ms": {"min": 1, "max": 20}, "failure_rate": 0.5,
               "seed": 9}},
    "defaults": {"pool": {"size": 7}, "timeout_ms": 1000, "timeout_max_ms": 2000,
                 "queue": {"max_jobs": 50},
                 "retry": {"max_attempts": 2, "backoff_ms": 10, "backoff_max_ms": 20}},
    "cells": [{"customer": "acme", "product": "dns", "pool": {"size": 16}},
              {"product": "mail", "per": ["customer"], "timeout_ms": 500},
              {}],
    "shutdown_grace_ms": 1234, "retention_ms": 5000})");
  CHECK(config.listen.host == "localhost");
  CHECK(config.listen.port == 0);
  CHECK(config.store.path == "jobs.db");
  CHECK(config.store.recent_jobs == 5000);
  CHECK(config.shutdown_grace == milliseconds(1234));
  CHECK(config.retention == milliseconds(5000));

  REQUIRE(config.services.size() == 2);
  CHECK(config.services[0].name == "demo");
  const auto& demo =
      providers::KindOf<providers::SimulatedService>::get(*config.services[0].settings);
  CHECK(demo.latency_min == milliseconds(1));
  CHECK(demo.latency_max == milliseconds(20));
  CHECK(demo.failure_rate == 0.5);
  CHECK(demo.seed == 9);
  CHECK(config.services[1].settle == milliseconds(250));
  const auto& web = providers::KindOf<providers::HttpService>::get(*config.services[1].settings);
  CHECK(web.url == "https://api.example:8443/x?y=1");
  REQUIRE(web.headers.size() == 3);
  CHECK(web.headers[0].first == "X-API-Key");
  CHECK(web.headers[0].second.source == "env:DNS_KEY");
  CHECK(web.headers[0].second.value == "s3cret");
  CHECK(web.headers[1].second.value == "from file");
  CHECK(web.headers[2].second.value == "plain");

  const cells::CellSettings defaults{.pool_size = 7,
                                     .timeout = milliseconds(1000),
                                     .timeout_max = milliseconds(2000),
                                     .jobs_max = 50,
                                     .retry = {2, milliseconds(10), milliseconds(20)},
                                     .submissions = {},
                                     .customer = {},
                                     .weights = {}};
  cells::CellSettings bigger = defaults;
  bigger.pool_size = 16;
  cells::CellSettings faster = defaults;
  faster.timeout = milliseconds(500);
  REQUIRE(config.cells.size() == 3);
  CHECK(config.cells[0] == cells::CellRule{"acme", "dns", false, false, bigger});
  CHECK(config.cells[1] == cells::CellRule{"*", "mail", true, false, faster});
  CHECK(config.cells[2] == cells::CellRule{"*", "*", false, false, defaults});
}

TEST_CASE("omitted members have their documented defaults") {
  const Config config = good(R"({"services": {"demo": {"type": "simulated"}}, "cells": [{}]})");
  CHECK(config.listen.host == "127.0.0.1");
  CHECK(config.listen.port == 8080);
  CHECK(config.store.path == "celld.db");
  CHECK(config.store.recent_jobs == 32768);
  CHECK(config.shutdown_grace == milliseconds(30000));
  CHECK(config.retention == std::chrono::hours(7 * 24));
  CHECK(config.cells[0].settings == cells::CellSettings{});
  CHECK(config.capacity.memory_bytes_max == 268'435'456);
  cells::CellSettings in_memory;
  in_memory.durability = cells::Durability::memory;
  CHECK(in_memory.bytes_max_in_force() == 67'108'864);
  CHECK(config.services[0].settle == milliseconds(0));
}

TEST_CASE("the database cannot be a file that celld removes or locks") {
  const std::map<std::string, std::string> uses = {
      {"celld.lock", "celld locks this file"},
      {"celld-backup.partial", "celld removes this file when it starts"},
      {"celld", "its lock file would be celld.lock, which celld uses itself"}};
  for (const auto& [name, use] : uses) {
    for (const std::string directory : {"", "./", "a/../"}) {
      const Faults faults = bad(R"({"services": {"dns": {"type": "simulated"}}, "cells": [{}],
                                    "store": {"path": ")" +
                                directory + name + "\"}}");
      CHECK(faults == Faults{{"/store/path", "must not be \"" + name + "\": " + use}});
    }
  }
}

TEST_CASE("all faults are reported at once, each with its pointer") {
  const Faults faults = bad(R"({
    "listen": {"host": "0.0.0.0", "port": 70000, "tls": true},
    "store": {"type": "postgresql", "path": "", "recent_jobs": 99},
    "services": {
      "a/b": {"type": "simulated", "failure_rate": 1.5},
      "cmd": {"type": "command", "argv": ["x"]},
      "lease": {"type": "pull", "url": "http://x"},
      "web": {"type": "http", "url": "ftp://x", "headers": {"X-Key": "env:NO_SUCH"}, "zzz": 1}},
    "defaults": {"pool": {"size": 0}, "timeout_ms": 3.5},
    "cells": [{"customer": "ac me", "pool": {"size": 100001, "burst": 0, "weight": 1001}}, 7,
              {"queue": {"max_jobs": "many", "max_bytes": 65535}, "durability": "tape",
               "on_stop": 1}],
    "retention_ms": 999, "shutdown_grace_ms": -1, "limits": {"max_headers": 7},
    "capacity": {"memory_max_bytes": 65535, "running_max": 0}, "nonsense": null})");
  const std::string rule =
      "must be a loopback address (127.0.0.0/8, ::1 or localhost), because without `auth` every "
      "client that can connect may do everything";
  const std::string name_rule = "[A-Za-z0-9][A-Za-z0-9._-]{0,62}";
  CHECK(faults ==
        Faults{{"/listen/host", rule},
               {"/listen/port", "must be an integer from 0 to 65535"},
               {"/listen/tls", "must be an object"},
               {"/store/type", "must be \"sqlite\""},
               {"/store/path", "must not be empty"},
               {"/store/recent_jobs", "must be an integer from 100 to 1000000"},
               {"/services/a~1b", "must have a name that matches " + name_rule},
               {"/services/a~1b/failure_rate", "must be a number from 0 to 1"},
               {"/services/cmd/argv/0",
                "must be the absolute path of a program: PATH is not searched"},
               {"/services/lease/url", "is unknown"},
               {"/services/web/url", "must begin with http:// or https://"},
               {"/services/web/headers/X-Key", "the environment variable \"NO_SUCH\" is not set"},
               {"/services/web/zzz", "is unknown"},
               {"/defaults/timeout_ms", "must be an integer from 1 to 604800000"},
               {"/defaults/pool/size", "must be an integer from 1 to 100000"},
               {"/cells/0/customer", "must be \"*\" or match " + name_rule},
               {"/cells/0/pool/size", "must be an integer from 1 to 100000"},
               {"/cells/0/pool/burst", "must be an integer from 1 to 100000"},
               {"/cells/0/pool/weight", "must be an integer from 1 to 1000"},
               {"/cells/1", "must be an object"},
               {"/cells/2/durability", "must be \"disk\" or \"memory\""},
               {"/cells/2/on_stop", "must be a string"},
               {"/cells/2/queue/max_jobs", "must be an integer from 1 to 100000000"},
               {"/cells/2/queue/max_bytes", "must be an integer from 65536 to 1099511627776"},
               {"/retention_ms", "must be an integer from 1000 to 3155760000000"},
               {"/shutdown_grace_ms", "must be an integer from 0 to 3600000"},
               {"/limits/max_headers", "must be an integer from 8 to 1000"},
               {"/capacity/memory_max_bytes", "must be an integer from 65536 to 1099511627776"},
               {"/capacity/running_max", "must be an integer from 1 to 10000000"},
               {"/nonsense", "is unknown"}});
}

TEST_CASE("services and cells are required") {
  CHECK(bad("{}") == Faults{{"/services", "is required"}, {"/cells", "is required"}});
  CHECK(bad(R"({"services":[],"cells":{}})") ==
        Faults{{"/services", "must be an object"}, {"/cells", "must be an array"}});
}

TEST_CASE("text that is not JSON is one fault of the whole document") {
  CHECK(bad("") == Faults{{"", "line 1, column 1: the document is empty"}});
  CHECK(bad("{\n  \"cells\": [}") == Faults{{"", "line 2, column 13: unexpected \"}\""}});
  CHECK(bad("[]") == Faults{{"", "must be an object"}});
  CHECK(bad(R"({"cells":[],"cells":[],"services":{}})").size() == 1);
}

TEST_CASE("a number out of range is one fault") {
  CHECK(bad(R"({"services":{},"cells":[{"pool":{"size":1e999}}]})") ==
        Faults{{"/cells/0/pool/size", "is a number out of range"}});
}

TEST_CASE("without tokens celld listens only on loopback addresses") {
  for (const auto* host : {"127.0.0.1", "127.8.9.10", "::1", "localhost", "LocalHost"})
    CHECK(bad_host(host).empty());
  for (const auto* host : {"0.0.0.0", "10.0.0.1", "::", "example.com", "127.0.0.1.example.com",
                           "127.1", "[::1]", "128.0.0.1", " 127.0.0.1", "fe80::1"})
    CHECK(bad_host(host).size() == 1);
}

TEST_CASE("the capacity must have room for the sizes of all cells that are no templates") {
  const std::string cells =
      R"("services":{},"cells":[{"pool":{"size":5}},{"customer":"a","pool":{"size":3}},)"
      R"({"product":"dns","per":["customer"],"pool":{"size":100}}]})";
  CHECK(bad(R"({"capacity":{"running_max":7},)" + cells) ==
        Faults{
            {"/capacity/running_max",
             "must be at least 8, the sum of the pool sizes of all cells that are not templates"}});
  CHECK(good(R"({"capacity":{"running_max":8},)" + cells).capacity.running_max == 8U);
  CHECK_FALSE(good("{" + cells).capacity.running_max);
}

TEST_CASE("a pool size with a fault causes no second fault at the capacity") {
  const Faults of_defaults = bad(R"({"capacity":{"running_max":3},"services":{},
                                     "defaults":{"pool":{"size":0}},"cells":[{}]})");
  CHECK(of_defaults == Faults{{"/defaults/pool/size", "must be an integer from 1 to 100000"}});
  const Faults of_cell =
      bad(R"({"capacity":{"running_max":3},"services":{},"cells":[{"pool":{"size":0}}]})");
  CHECK(of_cell == Faults{{"/cells/0/pool/size", "must be an integer from 1 to 100000"}});
}

TEST_CASE("a burst is not less than the size, and follows it while it is not set") {
  const std::string start = R"({"services":{},"defaults":{"pool":{"burst":8}},"cells":[)";
  CHECK(bad(start + R"({"pool":{"size":9}}]})") ==
        Faults{{"/cells/0/pool/size", "must not be more than `burst`, which is 8"}});
  CHECK(bad(start + R"({"pool":{"burst":3}}]})") ==
        Faults{{"/cells/0/pool/burst", "must not be less than `size`, which is 4"}});
  const Config config =
      good(R"({"services":{},"cells":[{"pool":{"size":9}},{"customer":"a","pool":)"
           R"({"size":9,"burst":12,"weight":5}}]})");
  CHECK_FALSE(config.cells[0].settings.pool_burst);
  CHECK(config.cells[1].settings.pool_burst == 12U);
  CHECK(config.cells[1].settings.pool_weight == 5);
}

TEST_CASE("HOST:PORT is split into host and port") {
  const auto parts = [](std::string_view text) -> std::string {
    const auto listen = config::parse_listen(text);
    return listen ? listen->host + " " + std::to_string(listen->port) : "none";
  };
  CHECK(parts("127.0.0.1:8080") == "127.0.0.1 8080");
  CHECK(parts("localhost:0") == "localhost 0");
  CHECK(parts("[::1]:65535") == "::1 65535");
  for (const auto* text :
       {"", ":", "8080", ":8080", "host", "host:", "host:x", "host:65536", "host:-1", "host:+1",
        "host: 1", "host:1 ", "::1:8080", "[::1]", "[]:1", "[host]:1", "[::1:1", "::1]:1"})
    CHECK(parts(text) == "none");
}

TEST_CASE("a flag or variable overrides the file") {
  const std::string text = R"({"services":{},"cells":[],"listen":{"host":"10.0.0.1","port":1}})";
  const Config config = good(text, {.listen = "[::1]:99"});
  CHECK(config.listen.host == "::1");
  CHECK(config.listen.port == 99);
  CHECK(bad(text).size() == 1);

  const Faults malformed = bad(text, {.listen = "99"});
  REQUIRE(malformed.size() == 1);
  CHECK(malformed[0].pointer.empty());
  CHECK(malformed[0].detail ==
        "--listen or CELLD_LISTEN: \"99\" must be HOST:PORT, with a port from 0 to 65535");
  const Faults foreign = bad(text, {.listen = "0.0.0.0:99"});
  REQUIRE(foreign.size() == 1);
  CHECK(foreign[0].pointer == "/listen/host");
  CHECK(foreign[0].detail.find("--listen or CELLD_LISTEN: \"0.0.0.0:99\" must be a loopback") == 0);
}

TEST_CASE("a service has a type, and the members of its type") {
  CHECK(bad_service("1") == Faults{{"/services/s", "must be an object"}});
  CHECK(bad_service("{}") == Faults{{"/services/s/type", "is required"}});
  const Faults unknown = bad_service(R"({"type":"soap"})");
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].pointer == "/services/s/type");
  CHECK(unknown[0].detail == R"(must be "http", "command", "pull" or "simulated")");
  CHECK(bad_service(R"({"type":"pull","url":"http://h","settle_ms":-1})") ==
        Faults{{"/services/s/settle_ms", "must be an integer from 0 to 86400000"},
               {"/services/s/url", "is unknown"}});
  CHECK(bad_service(R"({"type":"http"})") == Faults{{"/services/s/url", "is required"}});
  CHECK(bad_service(R"({"type":"http","url":"http://h","seed":1,"settle_ms":-1})") ==
        Faults{{"/services/s/settle_ms", "must be an integer from 0 to 86400000"},
               {"/services/s/seed", "is unknown"}});
  CHECK(bad_service(R"({"type":"simulated","url":"http://h","latency_ms":{"min":3,"max":2}})") ==
        Faults{{"/services/s/latency_ms/min", "must not be more than `max`"},
               {"/services/s/url", "is unknown"}});
  CHECK(bad_service(R"({"type":"simulated","latency_ms":{"min":3,"mean":2},"seed":-1})") ==
        Faults{{"/services/s/latency_ms/max", "is required"},
               {"/services/s/latency_ms/mean", "is unknown"},
               {"/services/s/seed", "must be an integer from 0 to 9223372036854775807"}});
}

TEST_CASE("limits and a circuit are read as configured") {
  const Config config = good(R"({"cells": [{}], "services": {
    "a": {"type": "http", "url": "http://h", "circuit": {},
          "limits": {"concurrency": 8, "rate_per_s": 0.5, "burst": 40}},
    "b": {"type": "simulated", "limits": {"rate_per_s": 20},
          "circuit": {"failures": 2, "window_ms": 3, "open_ms": 4, "hold_max_ms": 0}},
    "c": {"type": "pull", "limits": {"concurrency": 1}},
    "d": {"type": "command", "argv": ["/bin/true"], "limits": {}}}})");
  const auto& [a, b, c, d] = std::tie(config.services[0].protection, config.services[1].protection,
                                      config.services[2].protection, config.services[3].protection);
  CHECK(a == cells::Protection{{8, 0.5, 40},
                               cells::CircuitPolicy{5, milliseconds(30'000), milliseconds(10'000),
                                                    milliseconds(60'000)}});
  CHECK(b == cells::Protection{
                 {std::nullopt, 20, 1},
                 cells::CircuitPolicy{2, milliseconds(3), milliseconds(4), milliseconds(0)}});
  CHECK(c == cells::Protection{{1, std::nullopt, 1}, std::nullopt});
  CHECK_FALSE(d.is_any());
}

TEST_CASE("each fault of limits and of a circuit has its pointer") {
  CHECK(bad_service(R"({"type":"simulated","limits":3,"circuit":[]})") ==
        Faults{{"/services/s/limits", "must be an object"},
               {"/services/s/circuit", "must be an object"}});
  CHECK(bad_service(R"({"type":"simulated",
                    "limits":{"concurrency":0,"rate_per_s":0,"burst":0,"rate":1}})") ==
        Faults{{"/services/s/limits/concurrency", "must be an integer from 1 to 100000"},
               {"/services/s/limits/rate_per_s", "must be a number from 0.001 to 1000000"},
               {"/services/s/limits/burst", "must be an integer from 1 to 1000000"},
               {"/services/s/limits/rate", "is unknown"}});
  CHECK(bad_service(R"({"type":"pull","limits":{"burst":3}})") ==
        Faults{{"/services/s/limits/burst", "must not be set without `rate_per_s`"}});
  CHECK(bad_service(R"({"type":"simulated","circuit":
                    {"failures":0,"window_ms":0,"open_ms":0,"hold_max_ms":-1,"hold_ms":1}})") ==
        Faults{{"/services/s/circuit/failures", "must be an integer from 1 to 1000"},
               {"/services/s/circuit/window_ms", "must be an integer from 1 to 86400000"},
               {"/services/s/circuit/open_ms", "must be an integer from 1 to 86400000"},
               {"/services/s/circuit/hold_max_ms", "must be an integer from 0 to 86400000"},
               {"/services/s/circuit/hold_ms", "is unknown"}});
  CHECK(bad_service(R"({"type":"pull","circuit":{}})") ==
        Faults{{"/services/s/circuit", "is unknown"}});
}

TEST_CASE("a command is read as configured") {
  const Config config = good(R"({"services": {"db": {"type": "command",
    "argv": ["/usr/local/bin/make-db", "--fast", ""], "settle_ms": 7,
    "env": {"KEY": "env:DNS_KEY", "FROM_FILE": "file:/run/secrets/key", "_e1": "", "L": "a\nb"}}},
    "cells": [{}]})");
  CHECK(config.services[0].settle == milliseconds(7));
  const auto& command =
      providers::KindOf<providers::CommandService>::get(*config.services[0].settings);
  CHECK(command.arguments == std::vector<std::string>{"/usr/local/bin/make-db", "--fast", ""});
  REQUIRE(command.environment.size() == 4);
  CHECK(command.environment[0].first == "FROM_FILE");
  CHECK(command.environment[0].second.value == "from file");
  CHECK(command.environment[1].second.source == "env:DNS_KEY");
  CHECK(command.environment[1].second.value == "s3cret");
  CHECK(command.environment[2].second.value == "a\nb");
  CHECK(command.environment[3].first == "_e1");
  CHECK(command.environment[3].second.value.empty());
}

TEST_CASE("a command has at most 64 variables") {
  std::string variables = R"("V0":"x")";
  for (int i = 1; i < 65; ++i) variables += ",\"V" + std::to_string(i) + R"(":"x")";
  CHECK(bad_service(R"({"type":"command","argv":["/bin/true"],"env":{)" + variables + "}}") ==
        Faults{{"/services/s/env", "must have at most 64 members"}});
}

TEST_CASE("a variable of a command has at most 64 KiB") {
  CHECK(bad_service(R"({"type":"command","argv":["/bin/true"],
                    "env":{"A":"file:/run/secrets/full","B":"file:/run/secrets/more"}})") ==
        Faults{{"/services/s/env/B", "must have at most 65536 bytes"}});
}

TEST_CASE("a configuration has at most 1000 services") {
  const auto faults_of = [](int count) {
    std::string services;
    for (int i = 0; i < count; ++i)
      services += (i == 0 ? "\"s" : ",\"s") + std::to_string(i) + R"(":{"type":"pull"})";
    return bad(R"({"cells":[],"services":{)" + services + "}}");
  };
  CHECK(faults_of(1000).empty());
  CHECK(faults_of(1001) == Faults{{"/services", "must have at most 1000 members"}});
}

TEST_CASE("a configuration has at most 100000 cells") {
  std::string cells = "[7";
  for (int i = 0; i < 100'000; ++i) cells += ",7";
  CHECK(bad_cells(cells + "]").front() ==
        json::Fault{"/cells", "must have at most 100000 elements"});
}

TEST_CASE("each fault of a command has its pointer") {
  CHECK(bad_service(R"({"type":"command"})") == Faults{{"/services/s/argv", "is required"}});
  CHECK(bad_service(R"({"type":"command","argv":"/bin/true"})") ==
        Faults{{"/services/s/argv", "must be an array"}});
  CHECK(bad_service(R"({"type":"command","argv":[]})") ==
        Faults{{"/services/s/argv", "must have 1 to 64 elements"}});
  CHECK(bad_service(R"({"type":"command","argv":["/bin/true"],"mapping":{}})") ==
        Faults{{"/services/s/mapping",
                "belongs to a service of type http: a command has no requests"}});
  CHECK(
      bad_service(R"({"type":"command","argv":["bin/x",7,")" + std::string(4097, 'x') +
                  R"("],"url":"http://h","settle_ms":-1})") ==
      Faults{{"/services/s/argv/0", "must be the absolute path of a program: PATH is not searched"},
             {"/services/s/argv/1", "must be a string"},
             {"/services/s/argv/2", "must have at most 4096 bytes"},
             {"/services/s/settle_ms", "must be an integer from 0 to 86400000"},
             {"/services/s/url", "is unknown"}});
  std::string arguments = R"("/bin/true")";
  for (int i = 0; i < 64; ++i) arguments += R"(,"x")";
  CHECK(bad_service(R"({"type":"command","argv":[)" + arguments + "]}") ==
        Faults{{"/services/s/argv", "must have 1 to 64 elements"}});
  const std::string name_rule = "must have a name that matches [A-Za-z_][A-Za-z0-9_]{0,127}";
  CHECK(bad_service(R"({"type":"command","argv":["/bin/true"],"env":
                    {"A=B":"x","1":"x","":"x","C":1,"D":"env:NO_SUCH","E":"file:/no",
                     "F":"file:/run/secrets/nul"}})") ==
        Faults{{"/services/s/env/", name_rule},
               {"/services/s/env/1", name_rule},
               {"/services/s/env/A=B", name_rule},
               {"/services/s/env/C", "must be a string"},
               {"/services/s/env/D", "the environment variable \"NO_SUCH\" is not set"},
               {"/services/s/env/E", "the file \"/no\" cannot be read"},
               {"/services/s/env/F", "must not contain a NUL"}});
}

TEST_CASE("a service's name follows the rule for names") {
  const std::string longest(63, 'n');
  CHECK(bad(R"({"cells":[],"services":{")" + longest + R"(":{"type":"simulated"}}})").empty());
  for (const std::string& name : {std::string(), longest + "n", std::string("-x"), std::string("*"),
                                  std::string("a b"), std::string("ä")})
    CHECK(bad(R"({"cells":[],"services":{")" + name + R"(":{"type":"simulated"}}})").size() == 1);
}

TEST_CASE("URLs are absolute, http or https, and carry no credentials") {
  for (const auto* url :
       {"http://h", "https://h/", "HTTP://h:1/x?y=z", "http://127.0.0.1:65535", "http://[::1]/",
        "http://[::1]:80/x", "http://a_b.c-d/", "http://h?x=http://y/@z"})
    CHECK(bad_url(url).empty());
  for (const auto* url : {"",
                          "h",
                          "/x",
                          "ftp://h",
                          "file:///etc/passwd",
                          "http:",
                          "http://",
                          "http:///x",
                          "http://:80",
                          "http://h:",
                          "http://h:0",
                          "http://h:65536",
                          "http://h:x",
                          "http://u@h",
                          "http://u:p@h/",
                          "http://h/#f",
                          "http://h/a b",
                          "http://h/\\n",
                          "http://h/é",
                          "http://[::1",
                          "http://[x]/",
                          "http://a:1:2/",
                          "http://[::1]x/",
                          "xhttp://h",
                          " http://h"})
    CHECK(bad_url(url).size() == 1);
  CHECK(bad_url("http://h/" + std::string(2048 - 9, 'x')).empty());
  CHECK(bad_url("http://h/" + std::string(2049 - 9, 'x')).size() == 1);
  CHECK(bad_url("http://h/{{customer}}") ==
        Faults{{"/services/s/url",
                "must not contain a template: put it into `path` of a request of `mapping`"}});
}

TEST_CASE("beside a mapping, a service has no undo of its own") {
  CHECK(bad_service(R"({"type":"http","url":"http://h/","mapping":{"actions":{"create":[]}},
                    "undo":{}})") == Faults{{"/services/s/undo", "must be a member of `mapping`"}});
}

TEST_CASE("headers are well formed and are not those that celld sets") {
  CHECK(bad_headers(R"({"X-Key":"v","Accept":"text/plain; q=0.5"})").empty());
  for (const auto* name :
       {"", "a b", "a:b", "ä", "a\\nb", "Content-Length", "host", "Idempotency-Key", "TRACEPARENT",
        "transfer-encoding", "Connection", "content-encoding", "Content-Type", "Expect"})
    CHECK(bad_headers(std::string("{\"") + name + "\":\"v\"}").size() == 1);
  for (const auto* value : {"", "a\\nb", "a\\rb", "a\\u0001", "\\u007f"})
    CHECK(bad_headers(std::string("{\"X-Key\":\"") + value + "\"}").size() == 1);
  CHECK(bad_headers(R"({"X-Key":1})") == Faults{{"/services/s/headers/X-Key", "must be a string"}});
  CHECK(bad_headers(R"({"X-Key":"a","x-key":"b"})") ==
        Faults{{"/services/s/headers/x-key",
                "is the same header as another one, spelled differently"}});
  CHECK(bad_headers(R"({"X-Key":"{{customer}}"})").empty());
  CHECK(bad_headers(R"({"X-Key":"{{customer}}"},"mapping":{"actions":{"create":[]}})") ==
        Faults{{"/services/s/headers/X-Key",
                "must not contain a template: put it into `headers` of the requests"}});
}

TEST_CASE("a header has at most 128 bytes in its name and 8192 in its value") {
  const auto faults_of = [](std::size_t name_bytes, std::size_t value_bytes) {
    return bad_headers("{\"" + std::string(name_bytes, 'n') + "\":\"" +
                       std::string(value_bytes, 'v') + "\"}");
  };
  CHECK(faults_of(128, 8192).empty());
  CHECK(faults_of(129, 1).size() == 1);
  CHECK(faults_of(1, 8193) == Faults{{"/services/s/headers/n", "must have at most 8192 bytes"}});
}

TEST_CASE("a fault about a secret does not reveal it") {
  CHECK(bad_headers(R"({"X":"file:/no/such"})") ==
        Faults{{"/services/s/headers/X", "the file \"/no/such\" cannot be read"}});
  CHECK(bad_headers(R"({"X":"env:EMPTY"})") ==
        Faults{{"/services/s/headers/X", "must not be empty"}});
  const std::string control = "must not contain line breaks or other control characters";
  CHECK(bad_headers(R"({"X":"env:SPLIT"})") == Faults{{"/services/s/headers/X", control}});
  CHECK(bad_headers(R"({"X":"file:/run/secrets/two"})") ==
        Faults{{"/services/s/headers/X", control}});
  CHECK(bad_headers(R"({"X":"file:/run/secrets/nul"})") ==
        Faults{{"/services/s/headers/X", control}});
  CHECK(bad_headers(R"({"X":"file:/run/secrets/dos"})").empty());
}

TEST_CASE("two cells never have the same customer and product") {
  CHECK(bad_cells(R"([{"customer":"a"},{"customer":"a","product":"*"},{"product":"a"}])") ==
        Faults{{"/cells/1", "has the same customer and product as /cells/0"}});
  CHECK(bad_cells(R"([{},{"per":["customer"]}])") ==
        Faults{{"/cells/1", "has the same customer and product as /cells/0"}});
  CHECK(bad_cells(R"([{"customer":"a b"},{"customer":"a b"}])").size() == 2);
}

TEST_CASE("a template's own keys are those that the cell leaves open") {
  CHECK(bad_cells(R"([{"per":["customer","product"]}])").empty());
  CHECK(bad_cells(R"([{"customer":"*","product":"p","per":["customer"]}])").empty());
  CHECK(bad_cells(R"([{"customer":"a","per":["customer","product"]}])") ==
        Faults{{"/cells/0/per/0", "must be a key that the cell leaves at \"*\""}});
  CHECK(bad_cells(R"([{"per":["customer","customer","entity",1]}])") ==
        Faults{{"/cells/0/per/1", "is repeated"},
               {"/cells/0/per/2", "must be \"customer\" or \"product\""},
               {"/cells/0/per/3", "must be \"customer\" or \"product\""}});
  CHECK(bad_cells(R"([{"per":[]}])") == Faults{{"/cells/0/per", "must not be empty"}});
  CHECK(bad_cells(R"([{"per":"customer"}])") == Faults{{"/cells/0/per", "must be an array"}});
}

TEST_CASE("contradictory times are a fault at the member that was set") {
  CHECK(bad_cells(R"([{"timeout_ms":9000,"timeout_max_ms":8000}])") ==
        Faults{{"/cells/0/timeout_ms", "must not be more than `timeout_max_ms`, which is 8000"}});
  CHECK(bad_cells(R"([{"timeout_max_ms":8000}])") ==
        Faults{{"/cells/0/timeout_max_ms", "must not be less than `timeout_ms`, which is 30000"}});
  CHECK(bad_cells(R"([{"retry":{"backoff_ms":90000}}])") ==
        Faults{{"/cells/0/retry/backoff_ms",
                "must not be more than `backoff_max_ms`, which is 60000"}});
  CHECK(bad_cells(R"([{"timeout_ms":8000,"timeout_max_ms":8000}])").empty());
}

TEST_CASE("a contradiction in the defaults is reported once, not for every cell") {
  CHECK(bad(R"({"services":{},"defaults":{"timeout_max_ms":10},"cells":[{},{"customer":"a"}]})") ==
        Faults{{"/defaults/timeout_max_ms", "must not be less than `timeout_ms`, which is 30000"}});
  CHECK(bad(R"({"services":{},"defaults":{"timeout_ms":"x"},"cells":[{"timeout_max_ms":10}]})") ==
        Faults{{"/defaults/timeout_ms", "must be an integer from 1 to 604800000"}});
}

TEST_CASE("a cell that sets what is wrong in the defaults is checked by itself") {
  CHECK(bad(R"({"services":{},"defaults":{"timeout_ms":"x"},)"
            R"("cells":[{"timeout_ms":9000,"timeout_max_ms":8000}]})") ==
        Faults{{"/defaults/timeout_ms", "must be an integer from 1 to 604800000"},
               {"/cells/0/timeout_ms", "must not be more than `timeout_max_ms`, which is 8000"}});
}

TEST_CASE("null takes a limit of the defaults away from a cell") {
  const Config config = good(R"({"services":{},"defaults":{"queue":{"max_bytes":70000},
      "customers":{"quota":{"max_jobs":5,"submissions_per_s":2.5}}},
      "cells":[{},{"customer":"a","queue":{"max_bytes":null},
                   "customers":{"quota":{"max_jobs":null,"submissions_per_s":null}}}]})");
  CHECK(config.cells[0].settings.bytes_max == 70'000);
  CHECK(config.cells[1].settings == cells::CellSettings{});
}

TEST_CASE("a cell that sets weights inherits none") {
  const Config config = good(R"({"services":{},
      "defaults":{"customers":{"weights":{"gold":4,"*":2}}},
      "cells":[{},{"customer":"a","customers":{"weights":{"silver":3}}}]})");
  CHECK(config.cells[0].settings.weights == cells::CustomerWeights{{{"gold", 4}}, 2});
  CHECK(config.cells[1].settings.weights == cells::CustomerWeights{{{"silver", 3}}, 1});
}

TEST_CASE("the weights of a cell name at most 10000 customers") {
  const auto faults_of = [](int count) {
    std::string weights;
    for (int i = 0; i < count; ++i)
      weights += (i == 0 ? "\"c" : ",\"c") + std::to_string(i) + "\":2";
    return bad_cells(R"([{"customers":{"weights":{)" + weights + "}}}]");
  };
  CHECK(faults_of(10'000).empty());
  CHECK(faults_of(10'001) ==
        Faults{{"/cells/0/customers/weights", "must have at most 10000 members"}});
}

TEST_CASE("ten thousand cells are read") {
  std::string cells = "[";
  for (int i = 0; i < 10'000; ++i)
    cells += R"({"customer":"c)" + std::to_string(i) + R"(","pool":{"size":1}},)";
  CHECK(bad_cells(cells + "{}]").empty());
}

TEST_CASE("machine checks run for each section without faults") {
  std::vector<std::string> asked;
  const auto check = [&](const std::string& section) {
    return config::MachineCheck{section, [&asked, section](const Config&) {
                                  asked.push_back(section);
                                  return Faults{{section + "/x", "is not there"}};
                                }};
  };
  const auto pointers = [&](std::string_view text) {
    const auto outcome = config::parse_config(text, providers::service_kinds(), environment(), {},
                                              {check("/services"), check("/listen")});
    std::vector<std::string> found;
    for (const Fault& fault : std::get<Faults>(outcome)) found.push_back(fault.pointer);
    return found;
  };
  using Pointers = std::vector<std::string>;
  CHECK(pointers(R"({"services": {}, "cells": [], "retention_ms": 1})") ==
        Pointers{"/retention_ms", "/services/x", "/listen/x"});
  CHECK(pointers(R"({"services": {}, "cells": [], "listen": {"port": -1}})") ==
        Pointers{"/listen/port", "/services/x"});
  CHECK(pointers("{") == Pointers{""});
  CHECK(asked == Pointers{"/services", "/listen", "/services"});
}
