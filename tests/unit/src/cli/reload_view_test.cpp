#include "src/cli/reload_view.hpp"

#include <string>

#include "src/cli/service_view.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::cli;

namespace {

json::Value a_report() {
  return json::Value::parse(R"({"changed":{
      "cells":{"added":[{"customer":"bolt","product":"*"}],
               "changed":[{"customer":"acme","product":"dns"},{"customer":"acme","product":"*"}],
               "removed":[{"customer":"*","product":"mail"}]},
      "services":{"added":["billing"],"changed":["dns"],"removed":["fax\u001b[31m"]},
      "settings":["/auth","/retention_ms"]},
    "masked":[{"cell":{"customer":"acme","product":"*"},"setting":"pool.size","configured":4,
               "in_force":8},
              {"cell":{"customer":"acme","product":"*"},"setting":"queue.submissions_per_s",
               "configured":null,"in_force":0.5}],
    "restart_required":["/listen/port"]})");
}

}  // namespace

TEST_CASE("a reload is reported with one line per change, mask and pending restart") {
  CHECK(reload_text(a_report()) ==
        "celld has reloaded its configuration\n"
        "  cell bolt/* added\n"
        "  cell acme/dns changed\n"
        "  cell acme/* changed\n"
        "  cell */mail removed\n"
        "  service billing added\n"
        "  service dns changed\n"
        "  service fax\xef\xbf\xbd[31m removed\n"
        "  /auth changed\n"
        "  /retention_ms changed\n"
        "  pool.size of cell acme/* stays 8 because of an override; configured: 4\n"
        "  queue.submissions_per_s of cell acme/* stays 0.5 because of an override; "
        "configured: none\n"
        "  /listen/port differs in the file; the change takes effect at the next start\n");
}

TEST_CASE("a reload without a change says so, and still reports masks and pending restarts") {
  json::Value report = a_report();
  report.erase("changed");
  CHECK(reload_text(report) ==
        "celld has reloaded its configuration; nothing changed\n"
        "  pool.size of cell acme/* stays 8 because of an override; configured: 4\n"
        "  queue.submissions_per_s of cell acme/* stays 0.5 because of an override; "
        "configured: none\n"
        "  /listen/port differs in the file; the change takes effect at the next start\n");
}

TEST_CASE("of an override that changes nothing, a reload says that it is set") {
  json::Value report = a_report();
  report["masked"][0]["in_force"] = 4;
  CHECK(reload_text(report).find("pool.size of cell acme/* is 4, as configured; an override of it "
                                 "is set\n") != std::string::npos);
}

TEST_CASE("the table has one line per service") {
  ServiceTable table;
  table.add(json::Value::parse(R"({"service":"dns","type":"http","limits":{},"in_flight":12,
      "waiting":3,"rates":{"ended_per_s":11.25},
      "circuit":{"state":"closed","since":null,"why":null}})"));
  CHECK(table.text({}) ==
        "SERVICE  TYPE  IN FLIGHT  WAITING  OUT/S  CIRCUIT\n"
        "dns      http         12        3   11.2  closed\n");
}

TEST_CASE("the details of a service say why no call begins") {
  CHECK(service_details(json::Value::parse(R"({"service":"dns","type":"http",
      "limits":{"concurrency":8,"rate_per_s":2.5,"burst":40},"in_flight":0,"waiting":120,
      "rates":{"ended_per_s":0},
      "circuit":{"state":"open","since":"2026-11-23T18:55:00.672Z","why":"5 failures in a row"},
      "held_until":"2026-11-23T18:56:00.672Z"})"),
                        {}) ==
        "service     dns\n"
        "type        http\n"
        "limits      8 at a time, 2.5 a second, 40 at once after a pause\n"
        "in flight   0\n"
        "waiting     120\n"
        "ended/s     0.0\n"
        "circuit     open\n"
        "since       2026-11-23T18:55:00.672Z\n"
        "why         5 failures in a row\n"
        "held until  2026-11-23T18:56:00.672Z\n");
}

TEST_CASE("the details of a service without protection are short") {
  CHECK(service_details(json::Value::parse(R"({"service":"dns","type":"http","limits":{},
      "in_flight":1,"waiting":0,"rates":{"ended_per_s":2},
      "circuit":{"state":"closed","since":null,"why":null},"held_until":null})"),
                        {}) ==
        "service     dns\n"
        "type        http\n"
        "limits      none\n"
        "in flight   1\n"
        "waiting     0\n"
        "ended/s     2.0\n"
        "circuit     closed\n");
}
