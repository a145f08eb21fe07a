#include "cells/model/slot_shares.hpp"

#include <algorithm>
#include <vector>

namespace cells {
namespace {

constexpr std::size_t remembered_max = 1000;

}  // namespace

std::int64_t SlotShares::start_us(const std::string& customer, std::size_t ahead,
                                  std::uint32_t weight) const {
  const auto found = customers_.find(customer);
  const auto next = found == customers_.end() ? now_us_ : std::max(found->second.clock_us, now_us_);
  return next + static_cast<std::int64_t>(ahead) * (estimate_us_ / weight);
}

std::int64_t SlotShares::begin(const std::string& customer, std::uint32_t weight) {
  const auto start = start_us(customer);
  const auto by_us = std::max<std::int64_t>(estimate_us_ / weight, 1);
  Customer& known = customers_[customer];
  now_us_ = std::max(now_us_, start - known.charged_us);
  known.clock_us = start + by_us;
  known.charged_us += by_us;
  if (customers_.size() > remembered_max) forget_half();
  return by_us;
}

/// Forgets the half of the customers that are the least ahead of the others.
void SlotShares::forget_half() {
  std::vector<std::int64_t> clocks;
  clocks.reserve(customers_.size());
  for (const auto& [customer, known] : customers_) clocks.push_back(known.clock_us);
  const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  std::nth_element(clocks.begin(), middle, clocks.end());
  now_us_ = std::max(now_us_, *middle);
  std::erase_if(customers_, [this](const auto& entry) { return entry.second.clock_us <= now_us_; });
}

void SlotShares::end(const std::string& customer, microseconds service_time,
                     std::int64_t charged_us, std::uint32_t weight) {
  const auto found = customers_.find(customer);
  if (found == customers_.end() || charged_us == 0) return;
  Customer& known = found->second;
  const auto actual = service_time.count();
  // The customer may have been forgotten, and come back, since the job began.
  known.charged_us = std::max<std::int64_t>(known.charged_us - charged_us, 0);
  known.clock_us += actual / weight - charged_us;
  if (actual > 0) estimate_us_ = std::max<std::int64_t>(1, (estimate_us_ * 7 + actual) / 8);
}

}  // namespace cells
