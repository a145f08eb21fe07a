// What a reload changes, and what it cannot.
#pragma once

#include <string>
#include <vector>

#include "cells/model/cell_key.hpp"
#include "src/config/config.hpp"

namespace celld::config {

template <class Name>
struct Difference {
  std::vector<Name> added;
  std::vector<Name> removed;
  std::vector<Name> changed;

  bool empty() const { return added.empty() && removed.empty() && changed.empty(); }
};

struct Changes {
  Difference<cells::CellKey> cells;
  Difference<std::string> services;
  std::vector<std::string> settings;  ///< Pointers of other members that changed.
  /// Pointers of members that differ and go on as they were: only a start reads them.
  std::vector<std::string> restart_required;
};

/// All in order of their names.
Changes compare(const Config& before, const Config& after);

/// `after`, with what only a start can change as in `before`.
Config reloaded(const Config& before, Config after);

/// What keeps `after` from being put in force over `before`, although it is right in itself.
std::vector<json::Fault> reload_faults(const Config& before, const Config& after);

}  // namespace celld::config
