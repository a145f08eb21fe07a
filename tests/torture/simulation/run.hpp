// One simulated life of a daemon, with crashes.
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
  std::uint64_t stops = 0;    ///< In order.
  std::vector<std::string> violations;
  std::vector<std::string> trace;  ///< Only when asked for.

  /// The promise that was broken first; empty: none.
  std::string broken_promise() const;
};

/// Runs the engine's actors from `seed` alone: which actor runs next, every latency, failure and
/// fault. Returns when every accepted job has ended, or with a violation.
RunResult run_seed(std::uint64_t seed, const Caps& caps, bool keep_trace);

}  // namespace simulation
