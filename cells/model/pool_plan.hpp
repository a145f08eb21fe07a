// How many workers a pool should spawn or retire.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cells {

/// The workers of a pool. A worker is active until it receives GracefulStop, then retiring until it
/// has left; it never becomes active again.
struct PoolHeadcount {
  std::uint32_t target = 0;
  std::uint32_t active = 0;
  std::uint32_t retiring = 0;
};

/// How many workers to spawn now. Retiring workers count until they have left (promise P4).
inline std::uint32_t workers_to_spawn(const PoolHeadcount& pool) {
  const std::uint32_t present = pool.active + pool.retiring;
  return present < pool.target ? pool.target - present : 0;
}

/// How many active workers to retire now.
inline std::uint32_t workers_to_retire(const PoolHeadcount& pool) {
  return pool.active > pool.target ? pool.active - pool.target : 0;
}

}  // namespace cells
