// One seed: a few lives of stores on random operations. Two seeds of three compare the SQLite store
// with the one in memory; the third has jobs of both kinds, in the store that joins the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/torture/stores/client.hpp"

namespace stores {

struct RunResult {
  std::string violation;  ///< Empty: none.
  std::vector<std::string> trace;
  std::size_t operations = 0;
  std::size_t looks = 0;
  std::size_t crashes = 0;
  std::size_t failures = 0;  ///< Of a store, on demand.
  std::size_t lost = 0;      ///< Operations that did not survive a crash.
};

/// Whether the jobs of this seed are of both kinds.
bool has_both_kinds(std::uint64_t seed);

/// `wrong` is what the client of the SQLite store does wrong.
RunResult run_seed(std::uint64_t seed, const Wrong& wrong, bool trace);

}  // namespace stores
