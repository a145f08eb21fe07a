#include "src/config/changes.hpp"

#include <map>
#include <set>
#include <utility>

#include "src/config/checks.hpp"

namespace celld::config {
namespace {

template <class Name, class Entry>
Difference<Name> difference(const std::map<Name, const Entry*>& before,
                            const std::map<Name, const Entry*>& after) {
  Difference<Name> difference;
  for (const auto& [name, entry] : after) {
    const auto found = before.find(name);
    if (found == before.end()) {
      difference.added.push_back(name);
    } else if (!(*found->second == *entry)) {
      difference.changed.push_back(name);
    }
  }
  for (const auto& [name, entry] : before) {
    if (!after.contains(name)) difference.removed.push_back(name);
  }
  return difference;
}

std::map<cells::CellKey, const cells::CellRule*> cells_of(const Config& config) {
  std::map<cells::CellKey, const cells::CellRule*> cells;
  for (const auto& rule : config.cells) cells[{rule.customer, rule.product}] = &rule;
  return cells;
}

std::map<std::string, const Service*> services_of(const Config& config) {
  std::map<std::string, const Service*> services;
  for (const auto& service : config.services) services[service.name] = &service;
  return services;
}

/// Added, removed and changed ones.
std::set<std::string> changed_schedules(const Config& before, const Config& after) {
  std::set<std::string> names;
  const auto compare = [&](const Config& from, const Config& to) {
    for (const auto& [name, spec] : from.schedules) {
      const auto found = to.schedules.find(name);
      if (found == to.schedules.end() || !(found->second == spec)) names.insert(name);
    }
  };
  compare(before, after);
  compare(after, before);
  return names;
}

}  // namespace

Changes compare(const Config& before, const Config& after) {
  Changes changes;
  changes.cells = difference(cells_of(before), cells_of(after));
  changes.services = difference(services_of(before), services_of(after));
  const auto note = [](bool differs, std::vector<std::string>& where, const char* pointer) {
    if (differs) where.emplace_back(pointer);
  };
  const auto& old_tls = before.listen.tls;
  const auto& new_tls = after.listen.tls;
  const bool tls_comes_or_goes = old_tls.has_value() != new_tls.has_value();
  note(before.tokens != after.tokens, changes.settings, "/auth");
  note(old_tls != new_tls && !tls_comes_or_goes, changes.settings, "/listen/tls");
  note(before.capacity != after.capacity, changes.settings, "/capacity");
  note(before.retention != after.retention, changes.settings, "/retention_ms");
  for (const auto& name : changed_schedules(before, after)) {
    changes.settings.push_back(json::pointer_to("/schedules", name));
  }
  note(before.shutdown_grace != after.shutdown_grace, changes.settings, "/shutdown_grace_ms");
  auto& restart = changes.restart_required;
  note(before.limits != after.limits, restart, "/limits");
  note(before.listen.host != after.listen.host, restart, "/listen/host");
  note(before.listen.port != after.listen.port, restart, "/listen/port");
  note(tls_comes_or_goes, restart, "/listen/tls");
  note(before.store != after.store, restart, "/store");
  return changes;
}

Config reloaded(const Config& before, Config after) {
  after.limits = before.limits;
  after.listen.host = before.listen.host;
  after.listen.port = before.listen.port;
  if (before.listen.tls.has_value() != after.listen.tls.has_value())
    after.listen.tls = before.listen.tls;
  after.store = before.store;
  return after;
}

std::vector<json::Fault> reload_faults(const Config& before, const Config& after) {
  if (after.tokens.empty() && !is_loopback(before.listen.host)) {
    return {{"/auth", "cannot be removed by a reload: until a restart, celld listens on " +
                          before.listen.host + ", where every client could then do everything"}};
  }
  return {};
}

}  // namespace celld::config
