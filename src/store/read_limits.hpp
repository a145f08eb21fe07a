// How much work one read of a store may take.
#pragma once

#include <cstddef>

namespace celld::store {

struct ReadLimits {
  std::size_t rows_max = 10'000;  ///< Examined by one ListJobs.
  /// For up to this many routing keys, ListJobs merges one index scan per key; for more, it scans
  /// jobs of all routing keys.
  std::size_t merged_max = 64;
  std::size_t names_max = 10'000;  ///< Cells in the cache of names; the same for routing keys.
  /// Keys of one routing key and turn that FindOldestQueued passes over. After these, a search for
  /// the next turn is cheaper than passing over the rest.
  std::size_t passed_max = 8;
  /// Jobs of one cell whose state FindOldestQueued looks up. After these, it takes the next job for
  /// a queued one, although that may be waiting for another attempt.
  std::size_t states_max = 256;
};

}  // namespace celld::store
