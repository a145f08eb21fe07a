// The configured settings of a cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cells/model/durability.hpp"
#include "cells/model/time.hpp"

namespace cells {

inline constexpr std::uint32_t pool_size_max = 100'000;
inline constexpr std::uint32_t pool_weight_max = 1000;

struct RetryPolicy {
  std::uint32_t max_attempts = 5;
  milliseconds backoff{1000};  ///< Before the second attempt; doubles with each further one.
  milliseconds backoff_max{60000};

  bool operator==(const RetryPolicy&) const = default;
};

/// What becomes of the jobs behind a failed one in its entity's line.
enum class OnPredecessorFailed : std::uint8_t { go_on, cancel };

struct CellSettings {
  std::uint32_t pool_size = 4;  ///< What the cell is guaranteed; 1 to pool_size_max.
  /// The most that it may run on what others leave idle; none: as the size, whatever that becomes.
  std::optional<std::uint32_t> pool_burst{};
  std::uint32_t pool_weight = 1;      ///< Its share of that; 1 to pool_weight_max.
  milliseconds timeout{30000};        ///< Of an attempt, if the job sets none.
  milliseconds timeout_max{3600000};  ///< The longest that a job may set.
  std::uint64_t jobs_max = 100'000;   ///< Bounds all unfinished jobs.
  Durability durability = Durability::disk;
  // Only for jobs in memory.
  std::uint64_t memory_bytes_max = 64 << 20;  ///< Bounds all jobs of the cell, ended ones too.
  bool keep_on_stop = false;  ///< A graceful shutdown keeps unfinished jobs for the next start.
  RetryPolicy retry;
  OnPredecessorFailed on_predecessor_failed = OnPredecessorFailed::go_on;

  bool operator==(const CellSettings&) const = default;
};

/// One entry of the configuration's `cells`: which jobs it matches, and their cell's settings.
struct CellRule {
  std::string customer = "*";
  std::string product = "*";
  bool per_customer = false;  ///< A template: each customer gets a cell of its own.
  bool per_product = false;
  CellSettings settings;

  bool is_template() const { return per_customer || per_product; }
  bool operator==(const CellRule&) const = default;
};

}  // namespace cells
