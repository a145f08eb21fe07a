// What is known of the addresses of host names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cells/model/time.hpp"

namespace celld::providers {

/// How a look-up ended.
struct HostAddresses {
  enum class End : std::uint8_t {
    found,
    unknown,  ///< The name does not exist, or has no address.
    failed,   ///< No name server answered, or celld could not ask.
  };
  End end = End::failed;
  std::vector<std::string> addresses;  ///< As numbers, the best first; not empty if found.
  int shortage = 0;                    ///< Why celld could not ask, of errno.
};

/// Remembers names for `fresh_for`, so that a name is looked up once for many calls. While name
/// servers fail or are silent, addresses that are at most `kept_for` old serve instead, as RFC 8767
/// describes; the other times are those of its section 5. For one thread.
class HostNames {
 public:
  using LookUp = std::function<void(const std::string& name)>;

  static constexpr cells::milliseconds fresh_for{60'000};
  static constexpr cells::milliseconds kept_for{24 * 3'600'000};
  /// Calls that could use old addresses wait no longer for the end of a look-up.
  static constexpr cells::milliseconds patience{1'800};
  /// After a failure, old addresses serve for so long without another look-up.
  static constexpr cells::milliseconds recheck_after{30'000};

  /// `look_up` starts a look-up, and its end must be passed to ended(). At most one look-up of a
  /// name is under way.
  explicit HostNames(LookUp look_up) : look_up_(std::move(look_up)) {}

  /// Until when a call that may wait until `at_most` waits for the end of a look-up, which it
  /// starts unless one is under way. With old addresses, at least half of its time is left to use
  /// them. Nothing: the call should use addresses() now.
  std::optional<cells::SteadyTime> wait_for(const std::string& name, cells::SteadyTime now,
                                            cells::SteadyTime at_most);
  /// The best known, the best first; may be empty.
  const std::vector<std::string>& addresses(const std::string& name, cells::SteadyTime now);

  void ended(const std::string& name, HostAddresses found, cells::SteadyTime now);

 private:
  struct Name {
    std::vector<std::string> addresses;
    cells::SteadyTime found_at{};
    cells::SteadyTime next_look_up{};
    std::optional<cells::SteadyTime> looked_up_since{};  ///< While a look-up is under way.
  };

  static bool has_addresses(const Name& name, cells::SteadyTime now);

  LookUp look_up_;
  std::map<std::string, Name> names_;
};

}  // namespace celld::providers
