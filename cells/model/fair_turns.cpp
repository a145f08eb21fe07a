#include "cells/model/fair_turns.hpp"

#include <algorithm>

namespace cells {
namespace {

constexpr std::int64_t estimate_us_min = 100;
constexpr std::int64_t estimate_us_max = 3'600'000'000;

}  // namespace

void FairTurns::join(Party& party) {
  if (party.in_ring_) return;
  party.in_ring_ = true;
  ring_.push_back(&party);
}

void FairTurns::leave(Party& party) {
  if (!party.in_ring_) return;
  ring_.erase(std::find(ring_.begin(), ring_.end(), &party));
  party.in_ring_ = false;
  party.in_turn_ = false;
  party.deficit_us_ = std::min<std::int64_t>(party.deficit_us_, 0);
}

FairTurns::Party* FairTurns::next() {
  std::size_t passed = 0;
  while (!ring_.empty()) {
    Party& party = *ring_.front();
    if (!party.in_turn_) {
      party.deficit_us_ += estimate_us_;
      party.in_turn_ = true;
    }
    if (party.deficit_us_ > 0) return &party;
    party.in_turn_ = false;
    ring_.pop_front();
    ring_.push_back(&party);
    if (++passed >= ring_.size()) {
      grant_rounds();
      passed = 0;
    }
  }
  return nullptr;
}

void FairTurns::charge(Party& party) {
  party.deficit_us_ -= estimate_us_;
  party.charged_us_.push_back(estimate_us_);
}

bool FairTurns::pass(Party& party) {
  if (party.deficit_us_ > 0) return false;
  if (party.in_turn_) {
    party.in_turn_ = false;
    ring_.pop_front();
    ring_.push_back(&party);
  }
  return true;
}

void FairTurns::ended(Party& party, microseconds service_time) {
  if (party.charged_us_.empty()) return;
  const std::int64_t actual = service_time.count();
  party.deficit_us_ -= actual - party.charged_us_.front();
  party.charged_us_.pop_front();
  // A refund earned while a party is alone must not take turns from parties that come later.
  if (ring_.size() <= 1) party.deficit_us_ = std::min(party.deficit_us_, estimate_us_);
  if (actual > 0) {
    estimate_us_ = std::clamp((estimate_us_ * 7 + actual) / 8, estimate_us_min, estimate_us_max);
  }
}

/// Called when every party in the ring is in debt: grants, at once, as many rounds as the least
/// indebted one needs.
void FairTurns::grant_rounds() {
  std::int64_t rounds = estimate_us_max;
  for (const Party* party : ring_) rounds = std::min(rounds, -party->deficit_us_ / estimate_us_);
  for (Party* party : ring_) party->deficit_us_ += rounds * estimate_us_;
}

}  // namespace cells
