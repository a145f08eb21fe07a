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
               "in_force":8}],
    "restart_required":["/listen/port"]})");
}

}  // namespace

TEST_CASE("a reload is told with a line for each thing that is different, or is not") {
  CHECK(reload_text(a_report()) ==
        "celld has read its configuration again\n"
        "  cell bolt/* is new\n"
        "  cell acme/dns has changed\n"
        "  cell acme/* has changed\n"
        "  cell */mail is gone\n"
        "  service billing is new\n"
        "  service dns has changed\n"
        "  service fax\xef\xbf\xbd[31m is gone\n"
        "  /auth has changed\n"
        "  /retention_ms has changed\n"
        "  pool.size of cell acme/* stays 8, as it was set by hand; configured: 4\n"
        "  /listen/port is different in the file: only a restart changes it\n");
}

TEST_CASE("a reload that changes nothing says so, and still tells what does not count") {
  json::Value report = a_report();
  report.erase("changed");
  CHECK(reload_text(report) ==
        "celld has read its configuration again, and nothing has changed\n"
        "  pool.size of cell acme/* stays 8, as it was set by hand; configured: 4\n"
        "  /listen/port is different in the file: only a restart changes it\n");
}

TEST_CASE("services have a line each") {
  ServiceTable table;
  table.add(json::Value::parse(R"({"service":"dns","type":"http","limits":{},"in_flight":12,
      "waiting":3,"rates":{"ended_per_s":11.25},
      "circuit":{"state":"closed","since":null,"why":null}})"));
  CHECK(table.text({}) ==
        "SERVICE  TYPE  IN FLIGHT  WAITING  OUT/S  CIRCUIT\n"
        "dns      http         12        3   11.2  closed\n");
}
