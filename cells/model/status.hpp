// What a cell tells about itself.
#pragma once

#include <cstdint>
#include <optional>

#include "cells/model/cell_key.hpp"
#include "cells/model/job.hpp"
#include "cells/model/quota.hpp"

namespace cells {

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
  CellQuota quota;  ///< As configured.
  std::optional<std::uint32_t> pool_size_override;
};

}  // namespace cells
