// Runs many seeds, one after the other or in parallel.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tests/torture/simulation/faults.hpp"

namespace simulation {

inline constexpr std::uint64_t workers_max = 256;

struct CampaignOptions {
  std::string program;  ///< As in the user's command line.
  std::uint64_t from = 0;
  std::uint64_t count = 100;
  std::optional<std::chrono::seconds> time;  ///< After this time, no seed begins.
  std::uint64_t workers = 1;                 ///< Processes, up to workers_max.
  std::string summary;                       ///< A file for the results; empty: none.
  bool trace = false;
  bool find = false;  ///< A violation is the desired outcome.
  Caps caps;
};

/// Prints what was run, and the first violation with its shrunk trace and the commands to repeat
/// it. Returns the exit code: 0 if nothing failed, otherwise 1; with `find`, 0 only after a
/// violation.
int run_campaign(const CampaignOptions& options);

/// Whether SIGINT or SIGTERM has ended the last campaign early.
bool was_interrupted();

}  // namespace simulation
