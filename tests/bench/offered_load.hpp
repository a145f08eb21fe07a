// Load at a rate of its own: requests are due at regular times, whether or not earlier ones have
// been answered.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/bench/load.hpp"

namespace celld::bench {

struct OfferedLoad {
  std::uint16_t port = 0;
  std::size_t connections = 128;  ///< A request that is due waits for a free one.
  double per_s = 0;
  std::chrono::milliseconds duration{};  ///< Then the answers to what was sent are awaited.
};

struct OfferedResult {
  std::size_t accepted = 0;  ///< Answers 202.
  std::size_t refused = 0;   ///< Answers 429.
  std::size_t unsent = 0;    ///< Due, but no connection was free until the end.
  /// Of accepted requests, from the moment at which each was due.
  std::vector<double> latencies_us{};
};

/// Throws on any other answer, and on a missing one.
OfferedResult run_offered_load(const OfferedLoad& load, const NextRequest& next_request);

}  // namespace celld::bench
