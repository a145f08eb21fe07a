// The switch of the planted bugs; see planted_bugs.py.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace simulation {

/// The bug that this process shows; empty: none.
inline std::string planted_bug;

inline bool planted(std::string_view name) {
  return planted_bug == name;
}

/// The bugs that this program contains.
extern const std::vector<std::string_view> planted_bugs;

}  // namespace simulation
