// Which actions of jobs a service can undo.
#pragma once

#include <set>
#include <string>

namespace cells {

/// Some actions, or all actions but some. Actions have names of any kind, so a set of all of them
/// cannot be listed.
struct ActionSet {
  std::set<std::string> named{};
  bool others = false;  ///< The actions that are not named belong to the set, and no named one.

  static ActionSet all() { return {{}, true}; }
  static ActionSet all_if(bool condition) { return {{}, condition}; }

  bool contains(const std::string& action) const { return named.contains(action) != others; }
  bool is_empty() const { return named.empty() && !others; }

  bool operator==(const ActionSet&) const = default;
};

/// The actions of `set` that are not in `other`.
ActionSet without(const ActionSet& set, const ActionSet& other);

}  // namespace cells
