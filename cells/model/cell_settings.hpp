// The configured settings of a cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cells/model/customer_weights.hpp"
#include "cells/model/durability.hpp"
#include "cells/model/quota.hpp"
#include "cells/model/time.hpp"

namespace cells {

inline constexpr std::uint32_t pool_size_max = 100'000;
inline constexpr std::uint32_t pool_weight_max = 1000;

struct RetryPolicy {
  std::uint32_t max_attempts = 5;
  milliseconds backoff{1000};  ///< Bounds the random wait before the second attempt; then doubles.
  milliseconds backoff_max{60000};

  bool operator==(const RetryPolicy&) const = default;
};

/// What becomes of the jobs behind a failed one in its entity's line.
enum class OnPredecessorFailed : std::uint8_t { go_on, cancel };

inline constexpr std::uint64_t memory_bytes_default = 64 << 20;

struct CellSettings {
  std::uint32_t pool_size = 4;  ///< What the cell is guaranteed; 1 to pool_size_max.
  /// The most jobs that it may run, borrowed slots included; none: the pool size in force.
  std::optional<std::uint32_t> pool_burst{};
  std::uint32_t pool_weight = 1;      ///< When idle slots are divided; 1 to pool_weight_max.
  milliseconds timeout{30000};        ///< Of an attempt, if the job sets none.
  milliseconds timeout_max{3600000};  ///< The longest that a job may set.
  std::uint64_t jobs_max = 100'000;   ///< Bounds all unfinished jobs.
  Durability durability = Durability::disk;
  /// Bounds the queued_bytes of unfinished jobs or, with Durability::memory, the memory that all
  /// jobs of the cell take; 0: no bound or, in memory, `memory_bytes_default`.
  std::uint64_t bytes_max = 0;
  /// With Durability::memory: a graceful shutdown saves unfinished jobs to a file for the next
  /// start.
  bool keep_on_stop = false;
  RetryPolicy retry;
  OnPredecessorFailed on_predecessor_failed = OnPredecessorFailed::go_on;
  RateQuota submissions;  ///< Of all customers together.
  CustomerQuota customer;
  CustomerWeights weights;
  milliseconds priority_step{0};  ///< See priority_rank.

  /// 0: no bound.
  std::uint64_t bytes_max_in_force() const {
    return bytes_max == 0 && durability == Durability::memory ? memory_bytes_default : bytes_max;
  }
  bool operator==(const CellSettings&) const = default;
};

/// The value of this limit; 0: no limit.
double quota_of(const CellSettings& settings, QuotaLimit limit);
void set_quota(CellSettings& settings, QuotaLimit limit, double value);
/// The settings with an administrator's limits instead of the configured ones.
CellSettings overridden(CellSettings settings, const QuotaOverride& quota);

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
