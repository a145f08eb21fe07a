// What the log says of a reload.
#include "src/reload_log.hpp"

#include <string>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/logged_lines.hpp"

namespace celld {
namespace {

using json::Value;
using logs::Level;

std::vector<Value> lines_of(const api::ReloadOutcome& outcome) {
  return test::logged_lines(Level::info,
                            [&](logs::Log& log) { log_reload(log, "/etc/celld.json", outcome); });
}

TEST_CASE("the log names what a reload has changed") {
  api::ReloadReport report;
  report.changes.cells.added = {{"acme", "*"}, {"bolt", "dns"}};
  report.changes.cells.changed = {{"*", "*"}};
  report.changes.services.removed = {"mail"};
  report.changes.settings = {"/auth", "/retention_ms"};
  report.changes.restart_required = {"/limits"};
  const auto lines = lines_of(report);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == Value{{"level", "info"},
                          {"message", "the configuration was reloaded"},
                          {"cells", "added acme/*, bolt/dns; changed */*"},
                          {"services", "removed mail"},
                          {"settings", "/auth, /retention_ms"}});
  CHECK(lines[1] == Value{{"level", "warning"},
                          {"message",
                           "/etc/celld.json: /limits differs in the file; the change takes effect "
                           "at the next start"}});
}

TEST_CASE("of many changes, the log names the first and the number of the others") {
  api::ReloadReport report;
  for (int i = 0; i < 22; ++i) report.changes.services.added.push_back("s" + std::to_string(i));
  const auto lines = lines_of(report);
  REQUIRE(lines.size() == 1);
  const auto services = lines[0].value("services", "");
  CHECK(services.find("added s0, s1, ") == 0);
  CHECK(services.find("s19 and 2 more") != std::string::npos);
  CHECK(services.find("s20") == std::string::npos);
}

TEST_CASE("the log says why a reload has changed nothing") {
  const auto lines = lines_of(std::vector<json::Fault>{{"/cells/0", "is wrong"}, {"", "is empty"}});
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["message"] == "/etc/celld.json: /cells/0: is wrong");
  CHECK(lines[1]["message"] == "/etc/celld.json: (document): is empty");
  CHECK(lines[2]["message"] == "the configuration is unchanged");
  const auto interrupted = lines_of(api::ReloadRefused{});
  REQUIRE(interrupted.size() == 1);
  CHECK(interrupted[0]["level"] == "warning");
}

}  // namespace
}  // namespace celld
