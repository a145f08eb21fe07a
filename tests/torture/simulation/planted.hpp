// The switch of the planted bugs; see planted_bugs.py.
#pragma once

#include <cstdint>
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

/// A check that, with all others off, must find this bug in the 6,000 seeds from `first_seed` on.
struct Control {
  std::string_view bug, check;  ///< String literals.
  std::uint64_t first_seed;
};
extern const std::vector<Control> controls;

}  // namespace simulation
