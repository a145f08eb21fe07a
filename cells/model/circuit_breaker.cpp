#include "cells/model/circuit_breaker.hpp"

#include <algorithm>
#include <utility>

namespace cells {

std::string_view to_string(CircuitState state) {
  switch (state) {
    case CircuitState::closed:
      return "closed";
    case CircuitState::open:
      return "open";
    case CircuitState::half_open:
      break;
  }
  return "half_open";
}

CircuitState CircuitBreaker::state(SteadyTime now) const {
  if (is_closed()) return CircuitState::closed;
  return now < *opened_ + policy_.open ? CircuitState::open : CircuitState::half_open;
}

std::optional<SteadyTime> CircuitBreaker::next_change() const {
  if (is_closed()) return std::nullopt;
  return *opened_ + policy_.open;
}

/// Calls that began before the circuit opened may end while it is not closed. Their outcome tells
/// nothing about the provider as it is now, unless the provider refuses celld's credentials.
void CircuitBreaker::ended(CallSign sign, bool is_probe, std::string_view what, microseconds ran,
                           const Now& now) {
  if (sign == CallSign::nothing) return;
  if (sign == CallSign::refusing) return open(std::string(what), now);
  if (!is_closed() && !is_probe) return;
  if (sign == CallSign::alive) {
    if (!is_closed()) reset(now.wall);
    failures_.clear();
    return;
  }
  if (is_probe && !is_closed()) return open("the probe failed: " + std::string(what), now);
  failures_.push_back({now.steady - ran, now.steady});
  while (failures_.size() > policy_.failures) failures_.pop_front();
  if (failures_.size() < policy_.failures || idle() > policy_.window) return;
  open(std::to_string(policy_.failures) + " failures in a row; the last one: " + std::string(what),
       now);
}

microseconds CircuitBreaker::idle() const {
  microseconds sum{0};
  auto later_began = SteadyTime::max();
  for (auto failure = failures_.rbegin(); failure != failures_.rend(); ++failure) {
    const bool is_last = failure == failures_.rbegin();
    if (!is_last && failure->ended < later_began) sum += later_began - failure->ended;
    later_began = std::min(later_began, failure->began);
  }
  return sum;
}

void CircuitBreaker::open(std::string why, const Now& now) {
  if (is_closed()) since_ = now.wall;
  opened_ = now.steady;
  why_ = why.empty() ? "the last call failed" : std::move(why);
}

void CircuitBreaker::reset(WallTime now) {
  failures_.clear();
  if (!is_closed()) since_ = now;
  opened_.reset();
  why_.clear();
}

}  // namespace cells
