// Many seeds, one after the other or several at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tests/torture/simulation/faults.hpp"

namespace simulation {

inline constexpr std::uint64_t workers_max = 256;

struct CampaignOptions {
  std::string program;  ///< As the user calls it.
  std::uint64_t from = 0;
  std::uint64_t count = 100;
  std::optional<std::chrono::seconds> time;  ///< No seed begins later.
  std::uint64_t workers = 1;                 ///< Processes, up to workers_max.
  std::string summary;                       ///< Where to write one; empty: nowhere.
  bool trace = false;
  bool find = false;  ///< A violation is what is wanted.
  Caps caps;
};

/// Prints what was tried, and the first violation with its trace, shrunk, and how to repeat it.
/// Returns the exit code: 0 without a violation; when one is to be found, with one.
int run_campaign(const CampaignOptions& options);

}  // namespace simulation
