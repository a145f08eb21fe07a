#include "src/config/changes.hpp"

#include <string>
#include <vector>

#include "src/providers/http/kind.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using config::Config;
using std::chrono::milliseconds;
using Names = std::vector<std::string>;

namespace {

cells::CellRule cell(const std::string& customer, std::uint32_t pool_size = 4) {
  cells::CellRule rule;
  rule.customer = customer;
  rule.settings.pool_size = pool_size;
  return rule;
}

config::Service service(const std::string& name, const std::string& url,
                        const std::string& secret = "one") {
  return {name, {}, providers::http_kind().hold({url, {{"X-Key", {"env:KEY", secret}}}})};
}

Config a_config() {
  Config config;
  config.cells = {cell("acme"), cell("bolt"), cell("*")};
  config.services = {service("billing", "http://h/billing"), service("dns", "http://h/dns")};
  config.tokens = {{"one", {1}, {config::Scope::read}, std::nullopt}};
  config.listen.tls = config::Tls{"cert.pem", "key.pem", ""};
  return config;
}

std::vector<std::string> customers(const std::vector<cells::CellKey>& keys) {
  Names names;
  for (const auto& key : keys) names.push_back(key.customer);
  return names;
}

}  // namespace

TEST_CASE("a configuration does not differ from itself") {
  const auto changes = config::compare(a_config(), a_config());
  CHECK(changes.cells.empty());
  CHECK(changes.services.empty());
  CHECK(changes.settings.empty());
  CHECK(changes.restart_required.empty());
}

TEST_CASE("added, removed and changed cells are listed by name") {
  Config after = a_config();
  after.cells = {cell("zeta"), cell("acme", 5), cell("*"), cell("crab")};
  const auto changes = config::compare(a_config(), after);
  CHECK(customers(changes.cells.added) == Names{"crab", "zeta"});
  CHECK(customers(changes.cells.changed) == Names{"acme"});
  CHECK(customers(changes.cells.removed) == Names{"bolt"});
  CHECK(changes.services.empty());
}

TEST_CASE("reordering cells in the file is not a change") {
  Config after = a_config();
  std::swap(after.cells.front(), after.cells.back());
  CHECK(config::compare(a_config(), after).cells.empty());
}

TEST_CASE("a cell that becomes a template has changed") {
  Config after = a_config();
  after.cells.back().per_customer = true;
  CHECK(customers(config::compare(a_config(), after).cells.changed) == Names{"*"});
}

TEST_CASE("added, removed and changed services are listed, even if only a secret's value changed") {
  Config after = a_config();
  after.services = {service("dns", "http://h/dns", "two"), service("mail", "http://h/mail")};
  const auto changes = config::compare(a_config(), after);
  CHECK(changes.services.added == Names{"mail"});
  CHECK(changes.services.changed == Names{"dns"});
  CHECK(changes.services.removed == Names{"billing"});
}

TEST_CASE("a service in which only settle_ms differs is listed as changed") {
  Config after = a_config();
  after.services.back().settle = milliseconds(5000);
  CHECK(config::compare(a_config(), after).services.changed == Names{"dns"});
}

TEST_CASE("settings that a reload changes are listed by pointer") {
  Config after = a_config();
  after.tokens.front().customer = "acme";
  after.listen.tls->key_path = "other.pem";
  after.retention = milliseconds(5000);
  after.shutdown_grace = milliseconds(1);
  after.capacity.memory_bytes_max = 1 << 20;
  const auto changes = config::compare(a_config(), after);
  CHECK(changes.settings ==
        Names{"/auth", "/listen/tls", "/capacity", "/retention_ms", "/shutdown_grace_ms"});
  CHECK(changes.restart_required.empty());
}

TEST_CASE("added, removed and changed schedules are listed by pointer") {
  Config before = a_config();
  for (const char* name : {"changed", "kept", "gone/"}) before.schedules[name].job.action = "a";
  Config after = before;
  after.schedules.erase("gone/");
  after.schedules["new"].paused = true;
  after.schedules["changed"].job.action = "b";
  CHECK(config::compare(before, after).settings ==
        Names{"/schedules/changed", "/schedules/gone~1", "/schedules/new"});
}

TEST_CASE("settings that need a restart are listed and keep their old values") {
  const Config before = a_config();
  Config after = a_config();
  after.limits.connections_max = 1;
  after.listen = {"0.0.0.0", 1, std::nullopt};
  after.store.path = "other.db";
  after.retention = milliseconds(5000);
  after.cells.pop_back();
  const auto changes = config::compare(before, after);
  CHECK(changes.restart_required ==
        Names{"/limits", "/listen/host", "/listen/port", "/listen/tls", "/store"});
  CHECK(changes.settings == Names{"/retention_ms"});
  const Config effective = config::reloaded(before, after);
  CHECK(config::compare(before, effective).restart_required.empty());
  CHECK(config::compare(effective, after).restart_required == changes.restart_required);
  CHECK(effective.retention == after.retention);
  CHECK(effective.cells == after.cells);
}

TEST_CASE("a reload replaces certificates but neither adds nor removes TLS") {
  const Config before = a_config();
  Config after = a_config();
  after.listen.tls->certificate_path = "other.pem";
  CHECK(config::reloaded(before, after).listen.tls == after.listen.tls);
  after.listen.tls.reset();
  CHECK(config::reloaded(before, after).listen.tls == before.listen.tls);
  CHECK_FALSE(config::reloaded(after, before).listen.tls.has_value());
}

TEST_CASE("a reload removes the tokens only while celld listens on loopback") {
  Config before = a_config();
  Config after = a_config();
  after.tokens.clear();
  CHECK(config::reload_faults(before, after).empty());
  // The address in use counts, not the address in the file.
  before.listen.host = "0.0.0.0";
  const auto faults = config::reload_faults(before, after);
  REQUIRE(faults.size() == 1);
  CHECK(faults.front().pointer == "/auth");
  CHECK(faults.front().detail.find("0.0.0.0") != std::string::npos);
  CHECK(config::reload_faults(before, a_config()).empty());
}
