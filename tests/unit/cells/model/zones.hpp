// Time zones for tests, whose changes of the offset are known without a database.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cells/model/time_zone.hpp"

namespace model_test {

/// A zone with a list of offsets, each from an instant on.
class ZoneOfOffsets final : public cells::TimeZone {
 public:
  using Change = std::pair<cells::WallTime, std::chrono::seconds>;
  explicit ZoneOfOffsets(std::chrono::seconds first, std::vector<Change> changes = {})
      : first_(first), changes_(std::move(changes)) {}

  cells::LocalTime local_time(cells::WallTime at) const override {
    auto offset = first_;
    for (const auto& [from, next] : changes_) {
      if (at >= from) offset = next;
    }
    return cells::LocalTime{std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()) +
                            offset};
  }

  cells::WallTime instant_of(cells::LocalTime local) const override {
    auto offset = first_;
    for (const auto& [from, next] : changes_) {
      const cells::WallTime at{local.time_since_epoch() - offset};
      if (at < from) return at;
      const cells::WallTime later{local.time_since_epoch() - next};
      if (later < from) return from;  // In the gap.
      offset = next;
    }
    return cells::WallTime{local.time_since_epoch() - offset};
  }

 private:
  const std::chrono::seconds first_;
  const std::vector<Change> changes_;
};

/// An instant, from a date and a time in UTC.
inline cells::WallTime utc(int year, unsigned month, unsigned day, int hour = 0, int minute = 0,
                           int second = 0) {
  using namespace std::chrono;  // NOLINT: calendar types.
  const sys_days date{
      year_month_day{std::chrono::year{year}, std::chrono::month{month}, std::chrono::day{day}}};
  return cells::WallTime{duration_cast<cells::milliseconds>(date.time_since_epoch() + hours{hour} +
                                                            minutes{minute} + seconds{second})};
}

/// "UTC", and "Berlin" with the changes of 2026.
class FewZones final : public cells::TimeZones {
 public:
  std::shared_ptr<const cells::TimeZone> find(std::string_view name) const override {
    using std::chrono::hours;
    if (name == "UTC") return std::make_shared<ZoneOfOffsets>(hours{0});
    if (name != "Berlin") return nullptr;
    return std::make_shared<ZoneOfOffsets>(
        hours{1}, std::vector<ZoneOfOffsets::Change>{{utc(2026, 3, 29, 1), hours{2}},
                                                     {utc(2026, 10, 25, 1), hours{1}}});
  }
};

}  // namespace model_test
