#include "src/reload_log.hpp"

#include <algorithm>
#include <variant>
#include <vector>

namespace celld {
namespace {

using logs::Level;
using logs::Line;

std::string text_of(const std::string& name) {
  return name;
}
std::string text_of(const cells::CellKey& key) {
  return to_string(key);
}

template <class Name>
std::string list_of(const std::vector<Name>& names) {
  constexpr std::size_t names_max = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), names_max); ++i)
    list += (i == 0 ? "" : ", ") + text_of(names[i]);
  if (names.size() > names_max)
    list += " and " + std::to_string(names.size() - names_max) + " more";
  return list;
}

template <class Name>
void note(Line& line, const char* field, const config::Difference<Name>& difference) {
  std::string text;
  const auto add = [&](const char* what, const std::vector<Name>& names) {
    if (names.empty()) return;
    text += (text.empty() ? "" : "; ") + std::string{what} + " " + list_of(names);
  };
  add("added", difference.added);
  add("removed", difference.removed);
  add("changed", difference.changed);
  if (!text.empty()) line.text(field, text);
}

void log_changes(logs::Log& log, const config::Changes& changes) {
  Line line{Level::info, "the configuration was reloaded"};
  note(line, "cells", changes.cells);
  note(line, "services", changes.services);
  if (!changes.settings.empty()) line.text("settings", list_of(changes.settings));
  log.write(line);
}

}  // namespace

std::string place_of(const json::Fault& fault) {
  return fault.pointer.empty() ? "(document)" : fault.pointer;
}

void log_reload(logs::Log& log, const std::string& config_path, const api::ReloadOutcome& outcome) {
  if (const auto* faults = std::get_if<std::vector<json::Fault>>(&outcome)) {
    for (const auto& fault : *faults)
      log.write(Line(Level::error, config_path + ": " + place_of(fault) + ": " + fault.detail));
    log.write({Level::error, "the configuration is unchanged"});
    return;
  }
  if (std::holds_alternative<api::ReloadRefused>(outcome)) {
    log.write({Level::warning,
               "the reload was interrupted by the shutdown; the next start uses " + config_path});
    return;
  }
  const auto& report = std::get<api::ReloadReport>(outcome);
  log_changes(log, report.changes);
  for (const auto& pointer : report.changes.restart_required) {
    log.write({Level::warning, config_path + ": " + pointer +
                                   " differs in the file; the change takes effect at the next "
                                   "start"});
  }
  for (const auto& masked : report.masked) {
    Line line{Level::warning, "a value set by an administrator stays in force"};
    line.text("cell", to_string(masked.cell)).text("setting", masked.setting);
    line.text("in_force", api::limit_text(masked.in_force));
    log.write(line.text("configured", api::limit_text(masked.configured)));
  }
}

}  // namespace celld
