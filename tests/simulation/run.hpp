// One simulated life of a daemon, with crashes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simulation {

struct RunResult {
  std::uint64_t seed = 0;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t calls = 0;
  std::uint64_t jobs = 0;
  std::uint64_t crashes = 0;
  std::vector<std::string> violations;
  std::vector<std::string> trace;  ///< Only when asked for.
};

/// Runs the engine's actors from `seed` alone: which actor runs next, every latency, failure and
/// fault. Returns when every accepted job has ended, or with a violation.
RunResult run_seed(std::uint64_t seed, bool keep_trace);

}  // namespace simulation
