#include "cells/model/slot_shares.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cells {
namespace {

constexpr std::size_t remembered_max = 1000;

}  // namespace

std::int64_t SlotShares::start_us(const std::string& customer) const {
  const auto found = finish_us_.find(customer);
  return found == finish_us_.end() ? now_us_ : std::max(found->second, now_us_);
}

void SlotShares::begin(const std::string& customer, std::uint32_t weight) {
  const auto start = start_us(customer);
  now_us_ = start;
  finish_us_[customer] = start + estimate_us_ / weight;
  if (finish_us_.size() > remembered_max) forget_half();
}

/// Forgets the half of the customers that are the least ahead of the others.
void SlotShares::forget_half() {
  std::vector<std::int64_t> finishes;
  finishes.reserve(finish_us_.size());
  for (const auto& [customer, finish] : finish_us_) finishes.push_back(finish);
  const auto middle = finishes.begin() + static_cast<std::ptrdiff_t>(finishes.size() / 2);
  std::nth_element(finishes.begin(), middle, finishes.end());
  now_us_ = std::max(now_us_, *middle);
  std::erase_if(finish_us_, [this](const auto& entry) { return entry.second <= now_us_; });
}

void SlotShares::end(const std::string& customer, microseconds service_time, std::uint32_t weight) {
  const auto actual = service_time.count();
  const auto found = finish_us_.find(customer);
  if (found != finish_us_.end()) found->second += (actual - estimate_us_) / weight;
  if (actual > 0) estimate_us_ = std::max<std::int64_t>(1, (estimate_us_ * 7 + actual) / 8);
}

}  // namespace cells
