// What the model knows of time zones. The database of the world's zones is outside.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "cells/model/time.hpp"

namespace cells {

/// What clocks of a time zone show.
using LocalTime = std::chrono::local_seconds;

/// Thread-safe, and the same for ever.
class TimeZone {
 public:
  virtual ~TimeZone() = default;

  virtual LocalTime local_time(WallTime at) const = 0;

  /// When clocks show this time: the first time if they show it twice; the end of the gap if a
  /// change of the offset leaves it out. Never later for an earlier local time.
  virtual WallTime instant_of(LocalTime local) const = 0;
};

class TimeZones {
 public:
  virtual ~TimeZones() = default;

  /// The zone of this name ("Europe/Berlin"); null if there is none.
  virtual std::shared_ptr<const TimeZone> find(std::string_view name) const = 0;
};

}  // namespace cells
