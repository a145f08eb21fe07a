#include "cells/model/admission.hpp"

#include <algorithm>
#include <cmath>

namespace cells {
namespace {

/// Used when no job has ended lately, so that there is no rate to go by.
constexpr double retry_after_unknown_s = 60;
constexpr double retry_after_max_s = 3600;

/// Until `jobs` more have ended.
milliseconds wait_for(double jobs, double finished_per_s) {
  const double wait_s = finished_per_s > 0 ? jobs / finished_per_s : retry_after_unknown_s;
  return std::chrono::seconds{
      static_cast<std::int64_t>(std::clamp(std::ceil(wait_s), 1.0, retry_after_max_s))};
}

}  // namespace

std::optional<Refusal> refuse_full(const CellKey& cell, std::uint64_t unfinished,
                                   std::uint64_t jobs_max, double finished_per_s,
                                   TurnedAway& turned_away) {
  if (unfinished < jobs_max) return std::nullopt;
  const auto surplus = static_cast<double>(unfinished - jobs_max + 1) +
                       static_cast<double>(turned_away.add(jobs_max));
  return Refusal{Refusal::Kind::queue_full, cell, jobs_max, unfinished,
                 wait_for(surplus, finished_per_s)};
}

Refusal refuse_memory(const CellKey& cell, bool in_cell, std::uint64_t limit, std::uint64_t depth,
                      std::uint64_t unfinished, double finished_per_s, TurnedAway& turned_away) {
  const auto kind = in_cell ? Refusal::Kind::cell_bytes_full : Refusal::Kind::memory_full;
  const auto ahead = turned_away.add(std::max<std::uint64_t>(unfinished, 1));
  return {kind, cell, limit, depth, wait_for(static_cast<double>(ahead + 1), finished_per_s)};
}

std::optional<Refusal> refuse_in_batch(const CellKey& cell, BatchId batch, Durability durability) {
  if (batch == 0 || durability == Durability::disk) return std::nullopt;
  Refusal refusal;
  refusal.kind = Refusal::Kind::not_in_batches;
  refusal.cell = cell;
  return refusal;
}

std::optional<Refusal> refuse_timeout(const CellKey& cell, milliseconds asked,
                                      milliseconds timeout_max) {
  if (asked <= timeout_max) return std::nullopt;
  Refusal refusal;
  refusal.kind = Refusal::Kind::timeout_too_long;
  refusal.cell = cell;
  refusal.limit = static_cast<std::uint64_t>(timeout_max.count());
  return refusal;
}

Refusal refuse_draining(const CellKey& cell) {
  Refusal refusal;
  refusal.kind = Refusal::Kind::draining;
  refusal.cell = cell;
  refusal.retry_after = std::chrono::seconds{60};
  return refusal;
}

Refusal refuse_reused_key(const CellKey& cell) {
  Refusal refusal;
  refusal.kind = Refusal::Kind::key_reused;
  refusal.cell = cell;
  return refusal;
}

}  // namespace cells
