// The time zone database of this machine.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cells/model/time_zone.hpp"

namespace celld {

/// Reads each zone once, when it is first asked for. "UTC" needs no database. Thread-safe.
class SystemTimeZones final : public cells::TimeZones {
 public:
  std::shared_ptr<const cells::TimeZone> find(std::string_view name) const override;
};

/// What is wrong with a time zone on this machine, continuing its name; empty: nothing.
std::string time_zone_fault(const std::string& name);

}  // namespace celld
