// One simulated life of a daemon, including crashes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/torture/simulation/faults.hpp"

namespace simulation {

struct RunResult {
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t calls = 0;
  std::uint64_t jobs = 0;     ///< Accepted.
  std::uint64_t crashes = 0;  ///< Power cuts, failed stores, and deaths of the daemon.
  std::uint64_t stops = 0;    ///< Clean shutdowns.
  std::vector<std::string> violations;
  std::vector<std::string> trace;  ///< Empty unless `keep_trace`.

  /// The promise that was broken first; empty if none was.
  std::string broken_promise() const;
};

/// Runs the engine's actors. The seed alone decides which actor runs next, and every latency,
/// failure and fault. Returns once every accepted job has ended, or at a violation.
RunResult run_seed(std::uint64_t seed, const Caps& caps, bool keep_trace);

}  // namespace simulation
