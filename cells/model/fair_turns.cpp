#include "cells/model/fair_turns.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cells {
namespace {

constexpr std::int64_t estimate_us_min = 100;
constexpr std::int64_t estimate_us_max = 3'600'000'000;
constexpr std::size_t remembered_max = 1000;

}  // namespace

void FairTurns::join(Party& party) {
  if (party.in_ring()) return;
  if (party.membership_ == Party::Membership::suspended) {
    suspended_ -= 1;
  } else {
    party.clock_us_ = std::max(party.clock_us_, now_us_);
    party.entered_us_ = party.clock_us_;
    weight_ += party.weight_;
  }
  enter(party);
}

void FairTurns::enter(Party& party) {
  party.membership_ = Party::Membership::ring;
  party.order_ = ++last_order_;
  ring_.insert(&party);
}

void FairTurns::leave(Party& party) {
  if (party.membership_ == Party::Membership::outside) return;
  party.in_ring() ? void(ring_.erase(&party)) : void(suspended_ -= 1);
  weight_ -= party.weight_;
  party.membership_ = Party::Membership::outside;
}

void FairTurns::suspend(Party& party) {
  if (!party.in_ring()) return;
  ring_.erase(&party);
  party.membership_ = Party::Membership::suspended;
  suspended_ += 1;
}

FairTurns::Party* FairTurns::next() {
  return ring_.empty() ? nullptr : *ring_.begin();
}

bool FairTurns::starts_before(const Party& a, const Party& b) const {
  const auto start_us = [this](const Party& party) {
    return party.in_ring() ? party.clock_us_ : std::max(party.clock_us_, now_us_);
  };
  return std::pair{start_us(a), a.order_} < std::pair{start_us(b), b.order_};
}

void FairTurns::charge(Party& party) {
  now_us_ = std::max(now_us_, party.clock_us_ - party.charged_sum_us_);
  const std::int64_t by_us = estimate_us_ / party.weight_;
  party.charged_us_.push_back(by_us);
  party.charged_sum_us_ += by_us;
  if (!party.in_ring()) {
    party.clock_us_ += by_us;
    return;
  }
  ring_.erase(&party);
  party.clock_us_ += by_us;
  enter(party);
}

void FairTurns::ended(Party& party, microseconds service_time) {
  if (party.charged_us_.empty()) return;
  const std::int64_t actual = service_time.count();
  const std::int64_t charged = party.charged_us_.front();
  party.charged_us_.pop_front();
  party.charged_sum_us_ -= charged;
  move_clock(party, actual / party.weight_ - charged);
  if (actual > 0) {
    estimate_us_ = std::clamp((estimate_us_ * 7 + actual) / 8, estimate_us_min, estimate_us_max);
  }
}

void FairTurns::owe(Party& party, microseconds service_time) {
  move_clock(party, service_time.count() / party.weight_);
}

void FairTurns::set_weight(Party& party, std::uint32_t weight) {
  if (party.membership_ != Party::Membership::outside) weight_ = weight_ - party.weight_ + weight;
  party.weight_ = weight;
}

/// Keeps the party's order among those with the same clock.
void FairTurns::move_clock(Party& party, std::int64_t by_us) {
  if (!party.in_ring()) {
    party.clock_us_ += by_us;
    return;
  }
  ring_.erase(&party);
  party.clock_us_ += by_us;
  ring_.insert(&party);
}

// --- Parties that are gone -----------------------------------------------------------------------

void ClockMemory::note(const std::string& name, std::int64_t clock_us, std::int64_t now_us) {
  if (clock_us <= now_us) return;
  clocks_us_[name] = clock_us;
  if (clocks_us_.size() <= remembered_max) return;
  std::vector<std::int64_t> clocks;
  clocks.reserve(clocks_us_.size());
  for (const auto& [known, clock] : clocks_us_) clocks.push_back(clock);
  const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  std::nth_element(clocks.begin(), middle, clocks.end());
  const auto kept_from = std::max(*middle, now_us);
  std::erase_if(clocks_us_, [kept_from](const auto& each) { return each.second <= kept_from; });
}

std::int64_t ClockMemory::take(const std::string& name) {
  const auto found = clocks_us_.extract(name);
  return found ? found.mapped() : 0;
}

void ClockMemory::add(const std::string& name, std::int64_t by_us) {
  if (const auto found = clocks_us_.find(name); found != clocks_us_.end()) found->second += by_us;
}

}  // namespace cells
