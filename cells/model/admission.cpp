#include "cells/model/admission.hpp"

#include <algorithm>
#include <cmath>

namespace cells {
namespace {

/// Used when no job has ended lately, so that there is no rate to go by.
constexpr double retry_after_unknown_s = 60;
constexpr double retry_after_max_s = 3600;

}  // namespace

std::optional<Refusal> refuse_full(const CellKey& cell, std::uint64_t unfinished,
                                   std::uint64_t jobs_max, double finished_per_s,
                                   TurnedAway& turned_away) {
  if (unfinished < jobs_max) return std::nullopt;
  const auto surplus = static_cast<double>(unfinished - jobs_max + 1) +
                       static_cast<double>(turned_away.add(jobs_max));
  const double wait_s = finished_per_s > 0 ? surplus / finished_per_s : retry_after_unknown_s;
  Refusal refusal;
  refusal.kind = Refusal::Kind::queue_full;
  refusal.cell = cell;
  refusal.limit = jobs_max;
  refusal.depth = unfinished;
  refusal.retry_after = std::chrono::seconds{
      static_cast<std::int64_t>(std::clamp(std::ceil(wait_s), 1.0, retry_after_max_s))};
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
