#include "cells/model/admission.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace cells {
namespace {

using BytesOf = Refusal::BytesOf;

/// Used while the rate at which jobs end is unknown.
constexpr double retry_after_unknown_s = 60;
constexpr double retry_after_max_s = 3600;

/// Until `jobs` more have ended.
milliseconds wait_for(double jobs, double finished_per_s) {
  const double wait_s = finished_per_s > 0 ? jobs / finished_per_s : retry_after_unknown_s;
  return std::chrono::seconds{
      static_cast<std::int64_t>(std::clamp(std::ceil(wait_s), 1.0, retry_after_max_s))};
}

/// How many of `jobs`, which take `bytes`, have to end before there is room for `excess` bytes.
/// `jobs` is not 0.
std::uint64_t jobs_of_bytes(std::uint64_t excess, std::uint64_t bytes, std::uint64_t jobs) {
  const auto each = std::max<std::uint64_t>(bytes / jobs, 1);
  return (excess + each - 1) / each;
}

constexpr std::size_t customers_max = 1000;

Refusal too_large(const CellKey& cell, std::uint64_t limit, std::uint64_t bytes, BytesOf bytes_of) {
  Refusal refusal{Refusal::Kind::job_too_large, cell, limit, bytes};
  refusal.bytes_of = bytes_of;
  return refusal;
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

std::optional<Refusal> refuse_bytes(const CellKey& cell, const JobCounts& counts,
                                    std::uint64_t bytes_max, std::uint64_t added,
                                    double finished_per_s, TurnedAway& turned_away) {
  if (bytes_max == 0 || counts.bytes + added <= bytes_max) return std::nullopt;
  const auto jobs = std::max<std::uint64_t>(counts.unfinished(), 1);
  const auto surplus = jobs_of_bytes(counts.bytes + added - bytes_max, counts.bytes, jobs);
  return Refusal{Refusal::Kind::cell_bytes_full, cell, bytes_max, counts.bytes,
                 wait_for(static_cast<double>(surplus + turned_away.add(jobs)), finished_per_s)};
}

Refusal refuse_customer(const CellKey& cell, const CustomerFull& full, std::uint64_t added,
                        double finished_per_s, TurnedAway& turned_away) {
  const auto jobs = std::max<std::uint64_t>(full.jobs, 1);
  const auto ahead = turned_away.add(jobs);
  if (full.in_jobs) {
    return {Refusal::Kind::customer_jobs_full, cell, full.limit, full.depth,
            wait_for(static_cast<double>(full.depth - full.limit + 1 + ahead), finished_per_s)};
  }
  const auto surplus = jobs_of_bytes(full.depth + added - full.limit, full.depth, jobs);
  return {Refusal::Kind::customer_bytes_full, cell, full.limit, full.depth,
          wait_for(static_cast<double>(surplus + ahead), finished_per_s)};
}

std::optional<Refusal> refuse_too_large(const CellKey& cell, std::uint64_t bytes,
                                        const CellSettings& settings) {
  const std::array<std::pair<std::uint64_t, BytesOf>, 2> limits = {
      {{settings.bytes_max, BytesOf::cell}, {settings.customer.bytes_max, BytesOf::customer}}};
  for (const auto& [limit, bytes_of] : limits) {
    if (limit != 0 && bytes > limit) return too_large(cell, limit, bytes, bytes_of);
  }
  return std::nullopt;
}

Refusal refuse_rate(const CellKey& cell, const SubmissionRates::TooFast& too_fast,
                    const CellSettings& settings) {
  const auto& quota = too_fast.of_customer ? settings.customer.submissions : settings.submissions;
  const auto limit = static_cast<std::uint64_t>(std::ceil(quota.per_s));
  const auto kind = too_fast.of_customer ? Refusal::Kind::customer_rate : Refusal::Kind::queue_rate;
  return {kind,
          cell,
          limit,
          quota.burst_in_force(),
          std::chrono::ceil<milliseconds>(too_fast.wait),
          quota.per_s};
}

void CustomerEndRates::job_ended(const std::string& customer, SteadyTime now) {
  Customer& known = of(customer);
  known.ended.count(now);
  known.turned_away.job_ended();
}

CustomerEndRates::Customer& CustomerEndRates::of(const std::string& customer) {
  if (customers_.size() >= customers_max && !customers_.contains(customer)) forget_half();
  return customers_[customer];
}

void CustomerEndRates::forget_half() {
  std::vector<std::int64_t> ends;
  ends.reserve(customers_.size());
  for (const auto& [name, each] : customers_) ends.push_back(each.ended.last_s());
  const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
  std::nth_element(ends.begin(), middle, ends.end());
  const auto kept_from = *middle;
  std::erase_if(customers_,
                [kept_from](const auto& each) { return each.second.ended.last_s() < kept_from; });
  if (customers_.size() >= customers_max)
    customers_.clear();  // More than half share the earliest second.
}

Refusal refuse_memory(const CellKey& cell, const MemoryFull& full, std::uint64_t unfinished,
                      double finished_per_s, TurnedAway& turned_away) {
  if (full.added > full.limit) {
    return too_large(cell, full.limit, full.added, full.in_cell ? BytesOf::cell : BytesOf::memory);
  }
  const auto kind = full.in_cell ? Refusal::Kind::cell_bytes_full : Refusal::Kind::memory_full;
  const auto ahead = turned_away.add(std::max<std::uint64_t>(unfinished, 1));
  return {kind, cell, full.limit, full.depth,
          wait_for(static_cast<double>(ahead + 1), finished_per_s)};
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
