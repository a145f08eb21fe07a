// The status of cells and services, as reported to administrators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cells/model/cell_key.hpp"
#include "cells/model/cell_settings.hpp"
#include "cells/model/circuit_breaker.hpp"
#include "cells/model/job.hpp"
#include "cells/model/protection.hpp"

namespace cells {

/// Set by an administrator.
enum class CellState : std::uint8_t {
  active,
  paused,    ///< Accepts jobs, and starts none.
  draining,  ///< Refuses new jobs, and finishes those it has.
};
/// The name in the API, for example "paused".
std::string_view to_string(CellState state);

/// What an administrator set for a cell; masks the configuration, and survives restarts.
struct CellOverride {
  std::optional<std::uint32_t> pool_size;
  CellState state = CellState::active;
  std::optional<std::uint32_t> pool_burst{};
  std::optional<std::uint32_t> pool_weight{};
  QuotaOverride quota{};

  bool is_none() const { return *this == CellOverride{}; }
  bool operator==(const CellOverride&) const = default;
};

struct PoolStatus {
  std::uint32_t target = 0;    ///< What the cell is guaranteed now.
  std::uint32_t ready = 0;     ///< Workers that wait for a job.
  std::uint32_t busy = 0;      ///< Workers that have a job and stay after it; leases outside.
  std::uint32_t retiring = 0;  ///< Workers that have a job, and leave after it.
  std::uint32_t borrowed = 0;  ///< Slots that the cell has beyond its guarantee.
  std::uint32_t lent = 0;      ///< The part of its guarantee that others have.
  std::uint32_t short_by = 0;  ///< The part of its size that the capacity does not allow.
};

struct QueueStatus {
  JobCounts counts;  ///< Unfinished jobs; `running` counts those with a live lease.
  double submitted_per_s = 0;
  double finished_per_s = 0;
};

struct CellStatus {
  CellKey key;
  bool is_template = false;  ///< Has instances instead of a pool and a queue of its own.
  PoolStatus pool;
  QueueStatus queue;
  CellSettings settings;  ///< As configured.
  CellOverride changed;
};

/// A configured setting that is not in force because an override masks it.
struct MaskedSetting {
  CellKey cell;
  std::string setting;               ///< Its name in the configuration, for example "pool.size".
  std::optional<double> configured;  ///< None: no limit.
  std::optional<double> in_force;
};

/// Why a change of a pool is refused.
enum class PoolRefusal : std::uint8_t {
  beyond_capacity,   ///< The guarantees of all cells would exceed what the daemon may run.
  burst_below_size,  ///< The burst would be less than the size.
};

/// Of a service whose jobs workers outside lease.
struct LeaseTraffic {
  std::uint64_t requests_waiting = 0;  ///< Requests for leases that have no answer yet.
  std::uint64_t granted = 0;           ///< Leases, since the lease desk started.
};

struct ServiceStatus {
  std::uint64_t in_flight = 0;  ///< Calls that have begun and not ended; leases that are out.
  double ended_per_s = 0;       ///< Calls or leases, whatever their outcome.
  std::optional<LeaseTraffic> leases{};  ///< Only of a pull service.
  Protection protection{};
  /// Jobs that wait for a permit or, at a pull service, for a lease, as far as they are in the
  /// windows.
  std::uint64_t waiting = 0;
  CircuitState circuit = CircuitState::closed;
  std::optional<WallTime> circuit_since{};  ///< None: it has never changed.
  std::string circuit_why{};                ///< Why it is not closed.
  std::optional<WallTime> paused_until{};   ///< Its provider asked for a pause.
};

}  // namespace cells
