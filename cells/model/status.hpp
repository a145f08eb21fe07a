// What a cell tells about itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cells/model/cell_key.hpp"
#include "cells/model/cell_settings.hpp"
#include "cells/model/job.hpp"

namespace cells {

/// What an administrator lets a cell do.
enum class CellState : std::uint8_t {
  active,
  paused,    ///< Takes jobs, starts none.
  draining,  ///< Takes no jobs, and finishes those it has.
};
/// The names of API.md, for example "paused".
std::string_view to_string(CellState state);

/// What an administrator changed at a cell; survives restarts.
struct CellOverride {
  std::optional<std::uint32_t> pool_size;
  CellState state = CellState::active;

  bool is_none() const { return !pool_size && state == CellState::active; }
  bool operator==(const CellOverride&) const = default;
};

struct PoolStatus {
  std::uint32_t target = 0;
  std::uint32_t ready = 0;     ///< Workers that wait for a job.
  std::uint32_t busy = 0;      ///< Workers with a job that are to stay.
  std::uint32_t retiring = 0;  ///< Workers that leave after the job they have.
};

struct QueueStatus {
  JobCounts counts;  ///< Unfinished jobs; `running` are those with a live lease.
  double submitted_per_s = 0;
  double finished_per_s = 0;
};

struct CellStatus {
  CellKey key;
  bool is_template = false;  ///< Has instances rather than a pool and a queue of its own.
  PoolStatus pool;
  QueueStatus queue;
  CellSettings settings;  ///< As configured.
  CellOverride changed;
};

/// A configured size that is not in force, because an administrator said otherwise.
struct MaskedSize {
  CellKey cell;
  std::uint32_t configured = 0;
  std::uint32_t in_force = 0;
};

struct ServiceStatus {
  std::uint64_t in_flight = 0;  ///< Calls begun and not ended.
  double ended_per_s = 0;       ///< Calls, however they ended.
};

}  // namespace cells
