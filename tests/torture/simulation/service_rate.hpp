// The rate of attempts at one service, judged by when they began.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "cells/model/protection.hpp"
#include "cells/model/time.hpp"

namespace simulation {

using namespace cells;

/// All attempts at a service since the daemon started, and the rate that it has. Those that began
/// before the rate came into force do not count for what it allows. They count for what may still
/// keep others waiting, since the engine may have put it into force a little earlier.
class ServiceRate {
 public:
  /// Workers outside and inside have a rate each; one that has not changed goes on.
  void change(const ServiceLimits& limits, bool pulled, SteadyTime now) {
    if (limits == limits_ && pulled == pulled_) return;
    limits_ = limits;
    pulled_ = pulled;
    since_ = now;
    due_ = {};
    for (const SteadyTime at : counted_) charge(at);
  }

  void began(SteadyTime now) {
    begun_.push_back(now);
    counted_.push_back(now);
    charge(now);
  }

  /// The attempt that seemed to begin at that time did not. It still counts for what may keep
  /// others waiting, since the engine may have counted it.
  void did_not_begin(SteadyTime at) {
    const auto found = std::find(begun_.begin(), begun_.end(), at);
    if (found != begun_.end()) begun_.erase(found);
  }

  /// Whether, from some moment on, more attempts have begun than the burst and the time allow.
  bool is_exceeded(SteadyTime now) const {
    if (!limits_.rate_per_s) return false;
    std::int64_t count = 0;
    for (auto first = begun_.rbegin(); first != begun_.rend() && *first > since_; ++first) {
      if (++count > limits_.burst + (now - *first) / interval()) return true;
    }
    return false;
  }

  /// When the rate allows one more attempt.
  SteadyTime next() const {
    return limits_.rate_per_s ? due_ - interval() * (limits_.burst - 1) : due_;
  }

 private:
  microseconds interval() const {
    return microseconds{static_cast<std::int64_t>(std::ceil(1e6 / *limits_.rate_per_s))};
  }

  /// As if each attempt took a permit when it began. Attempts that no rate held back may have been
  /// many: they use up the burst, and no more.
  void charge(SteadyTime at) {
    if (!limits_.rate_per_s) return;
    due_ = std::min(std::max(due_, at) + interval(), at + interval() * limits_.burst);
  }

  ServiceLimits limits_;
  bool pulled_ = false;
  SteadyTime since_{};               ///< When the rate came into force.
  std::vector<SteadyTime> begun_;    ///< In a run, there are few.
  std::vector<SteadyTime> counted_;  ///< `begun_`, and those that only seemed to begin.
  SteadyTime due_{};  ///< The next attempt would be due then if all kept the interval.
};

}  // namespace simulation
