#include "cells/model/rate_limit.hpp"

#include <algorithm>
#include <cmath>

namespace cells {

RateLimit::RateLimit(double rate_per_s, std::uint32_t burst)
    : interval_(std::max<std::int64_t>(1, std::llround(std::ceil(1e6 / rate_per_s)))),
      tolerance_(interval_ * (std::max(burst, 1U) - 1)) {}

void RateLimit::change(double rate_per_s, std::uint32_t burst, SteadyTime now) {
  const RateLimit changed{rate_per_s, burst};
  if (theoretical_ && *theoretical_ > now) {
    const double events =
        static_cast<double>((*theoretical_ - now).count()) / static_cast<double>(interval_.count());
    const double ahead = events * static_cast<double>(changed.interval_.count());
    // No more than when the whole burst has just been used.
    const auto most = changed.tolerance_ + changed.interval_;
    theoretical_ = now + std::min(microseconds{std::llround(ahead)}, most);
  }
  interval_ = changed.interval_;
  tolerance_ = changed.tolerance_;
}

SteadyTime RateLimit::next(SteadyTime now) const {
  return theoretical_ ? *theoretical_ - tolerance_ : now;
}

std::size_t RateLimit::available(SteadyTime now) const {
  const SteadyTime due = std::max(theoretical_.value_or(now), now);
  const microseconds room = now + tolerance_ - due;
  if (room < microseconds{0}) return 0;
  return static_cast<std::size_t>(room / interval_) + 1;
}

void RateLimit::take(std::size_t events, SteadyTime at) {
  if (events == 0) return;
  theoretical_ =
      std::max(theoretical_.value_or(at), at) + interval_ * static_cast<std::int64_t>(events);
}

}  // namespace cells
