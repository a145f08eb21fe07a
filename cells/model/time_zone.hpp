// What the model needs to know of time zones. The time zone database lies outside the engine.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "cells/model/time.hpp"

namespace cells {

/// What clocks of a time zone show.
using LocalTime = std::chrono::local_seconds;

/// Thread-safe and immutable.
class TimeZone {
 public:
  virtual ~TimeZone() = default;

  virtual LocalTime local_time(WallTime at) const = 0;

  /// When clocks show this time: the first time if they show it twice; the end of the gap if a
  /// change of the offset skips it. An earlier local time never gives a later instant.
  virtual WallTime instant_of(LocalTime local) const = 0;
};

class TimeZones {
 public:
  virtual ~TimeZones() = default;

  /// The zone of this name ("Europe/Berlin"); null if there is none.
  virtual std::shared_ptr<const TimeZone> find(std::string_view name) const = 0;
};

}  // namespace cells
