// One seed: a few lives of both stores on the same random operations.
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

/// `wrong` is what the client of the SQLite store does wrong.
RunResult run_seed(std::uint64_t seed, const Wrong& wrong, bool trace);

}  // namespace stores
