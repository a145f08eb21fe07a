#include "src/logs/flood_control.hpp"

#include <algorithm>

namespace celld::logs {
namespace {

using Duration = FloodControl::Duration;

/// Quiet buckets are dropped at most this often.
constexpr std::chrono::seconds forget_interval{1};

Duration interval(FloodControl::Rate rate) {
  return Duration{std::chrono::seconds{1}} / rate.per_second;
}

bool has_room(FloodControl::Time next, FloodControl::Rate rate, FloodControl::Time now) {
  return next <= now + interval(rate) * (rate.burst - 1);
}

}  // namespace

bool FloodControl::admit(std::string_view kind, std::string_view about, Time now) {
  Bucket& own = bucket_of(kind, about, now);
  if (has_room(own.next, limits_.each, now) && has_room(all_.next, limits_.all, now)) {
    own.next = std::max(own.next, now) + interval(limits_.each);
    all_.next = std::max(all_.next, now) + interval(limits_.all);
    return true;
  }
  if (own.held == 0) {
    own.held_since = now;
    holding_ += 1;
  }
  own.held += 1;
  return false;
}

std::vector<FloodControl::Held> FloodControl::due(Time now) {
  return report(now, [&](const Bucket& bucket) {
    return bucket.next <= now || bucket.held_since + limits_.report_interval <= now;
  });
}

std::vector<FloodControl::Held> FloodControl::all(Time now) {
  return report(now, [](const Bucket&) { return true; });
}

template <class Wanted>
std::vector<FloodControl::Held> FloodControl::report(Time now, Wanted wanted) {
  std::vector<Held> reports;
  for (auto& [key, bucket] : buckets_) {
    if (bucket.held == 0 || !wanted(bucket)) continue;
    const auto over = std::chrono::duration_cast<Duration>(now - bucket.held_since);
    reports.push_back({key.first, key.second, bucket.held, over});
    bucket.held = 0;
    holding_ -= 1;
  }
  return reports;
}

FloodControl::Bucket& FloodControl::bucket_of(std::string_view kind, std::string_view about,
                                              Time now) {
  Key key{kind, about};
  const auto found = buckets_.find(key);
  if (found != buckets_.end()) return found->second;
  if (buckets_.size() >= limits_.subjects_max) forget_quiet(now);
  if (buckets_.size() >= limits_.subjects_max) key.second = "others";
  return buckets_[std::move(key)];
}

/// Drops full buckets: they behave like absent ones.
void FloodControl::forget_quiet(Time now) {
  if (now < forgot_at_ + forget_interval) return;
  forgot_at_ = now;
  std::erase_if(buckets_, [&](const auto& entry) {
    return entry.second.held == 0 && entry.second.next <= now;
  });
}

}  // namespace celld::logs
