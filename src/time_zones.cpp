#include "src/time_zones.hpp"

#include <exception>

#include <date/tz.h>

namespace celld {
namespace {

class Utc final : public cells::TimeZone {
 public:
  cells::LocalTime local_time(cells::WallTime at) const override {
    return cells::LocalTime{std::chrono::floor<std::chrono::seconds>(at.time_since_epoch())};
  }
  cells::WallTime instant_of(cells::LocalTime local) const override {
    return cells::WallTime{local.time_since_epoch()};
  }
};

class Zone final : public cells::TimeZone {
 public:
  explicit Zone(const date::time_zone& zone) : zone_(zone) {}

  cells::LocalTime local_time(cells::WallTime at) const override {
    const date::sys_seconds seconds{
        std::chrono::floor<std::chrono::seconds>(at.time_since_epoch())};
    return cells::LocalTime{seconds.time_since_epoch() + zone_.get_info(seconds).offset};
  }

  cells::WallTime instant_of(cells::LocalTime local) const override {
    const auto info = zone_.get_info(date::local_seconds{local.time_since_epoch()});
    const auto at = info.result == date::local_info::nonexistent
                        ? info.first.end.time_since_epoch()
                        : local.time_since_epoch() - info.first.offset;
    return cells::WallTime{at};
  }

 private:
  const date::time_zone& zone_;  ///< Lives as long as the process.
};

/// Null: there is none of this name. Throws if its file cannot be read, which the library would do
/// only at the first use.
const date::time_zone* locate(std::string_view name) {
  const date::time_zone* zone = nullptr;
  try {
    zone = date::locate_zone(std::string{name});
  } catch (const std::exception&) {
    return nullptr;
  }
  zone->get_info(date::sys_seconds{});
  return zone;
}

bool has_database() {
  try {
    date::get_tzdb();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

std::shared_ptr<const cells::TimeZone> SystemTimeZones::find(std::string_view name) const {
  if (name == "UTC") return std::make_shared<Utc>();
  try {
    const auto* zone = locate(name);
    return zone == nullptr ? nullptr : std::make_shared<Zone>(*zone);
  } catch (const std::exception&) {
    return nullptr;
  }
}

std::string time_zone_fault(const std::string& name) {
  if (SystemTimeZones{}.find(name)) return "";
  if (!has_database()) {
    return "cannot be used: this machine has no time zone database (Debian's package tzdata)";
  }
  try {
    if (locate(name) == nullptr) return "is not in the time zone database of this machine";
  } catch (const std::exception& error) {
    return std::string("cannot be read from the time zone database of this machine: ") +
           error.what();
  }
  return "";  // It can be read by now.
}

}  // namespace celld
