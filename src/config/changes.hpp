// What a reload changes, and what needs a restart.
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
  /// Pointers of members that differ but take effect only at a start.
  std::vector<std::string> restart_required;
};

/// Every list is sorted by name.
Changes compare(const Config& before, const Config& after);

/// `after`, with the members that need a restart as in `before`.
Config reloaded(const Config& before, Config after);

/// Why celld cannot reload from `before` to `after`, although `after` is valid by itself.
std::vector<json::Fault> reload_faults(const Config& before, const Config& after);

}  // namespace celld::config
