// Which actions of jobs a service can undo.
#pragma once

#include <set>
#include <string>

namespace cells {

/// The named actions, or all actions except the named ones. Clients choose action names freely, so
/// the set of all actions cannot be listed.
struct ActionSet {
  std::set<std::string> named{};
  bool others = false;  ///< True: every action except the named ones.

  static ActionSet all() { return {{}, true}; }
  static ActionSet all_if(bool condition) { return {{}, condition}; }

  bool contains(const std::string& action) const { return named.contains(action) != others; }
  bool is_empty() const { return named.empty() && !others; }

  bool operator==(const ActionSet&) const = default;
};

/// The actions of `set` that are not in `other`.
ActionSet without(const ActionSet& set, const ActionSet& other);

}  // namespace cells
