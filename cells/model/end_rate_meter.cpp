#include "cells/model/end_rate_meter.hpp"

#include <algorithm>
#include <chrono>

namespace cells {
namespace {

/// Over a shorter time than this, the number of jobs tells more about the rate than the time
/// between them.
constexpr std::int64_t short_s = 10;
/// A pause this many times as long as usual means that the old rate is over.
constexpr std::int64_t pause_factor = 8;

std::int64_t second_of(SteadyTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace

void EndRateMeter::count(SteadyTime now, std::uint32_t jobs) {
  const auto second = second_of(now);
  if (size_ > 0 && second <= last_s()) {
    seconds_[(first_ + size_ - 1) % seconds_max].jobs += jobs;
    return;
  }
  if (is_slower_now(second)) {
    first_ = (first_ + size_ - 1) % seconds_max;
    size_ = 1;
  }
  if (size_ == seconds_max) {
    first_ = (first_ + 1) % seconds_max;
    size_ -= 1;
  }
  seconds_[(first_ + size_) % seconds_max] = {second, jobs};
  size_ += 1;
}

bool EndRateMeter::is_slower_now(std::int64_t second) const {
  if (size_ < 2) return false;
  const auto pauses = static_cast<std::int64_t>(size_ - 1);
  const auto pause = second - last_s();
  return pause > short_s && pause * pauses > pause_factor * (last_s() - at(0).second);
}

double EndRateMeter::per_second(SteadyTime now) const {
  if (size_ == 0) return 0;
  double all = 0;
  for (std::size_t i = 0; i < size_; ++i) all += static_cast<double>(at(i).jobs);
  const auto first = static_cast<double>(at(0).second);
  const double since_first = static_cast<double>(second_of(now)) - first;
  if (since_first < short_s) {
    return std::max(all / short_s, (all - 1) / std::max(since_first, 1.0));
  }
  if (size_ == 1) return all / since_first;
  const double pause = (static_cast<double>(last_s()) - first) / static_cast<double>(size_ - 1);
  const double seconds = std::max(static_cast<double>(last_s()) - first, since_first - pause);
  return (all - static_cast<double>(at(0).jobs)) / seconds;
}

}  // namespace cells
