// Which customer a free slot of a cell goes to, when several lanes of the cell want it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "cells/model/time.hpp"

namespace cells {

/// Start-time fair queueing over customers, as FairTurns: charged by service time / weight, an
/// estimate when a job starts, corrected when it ends. Within a lane customers take turns by
/// DispatchQueue; this class compares the customers whose turn it is in different lanes. Not
/// thread-safe.
class SlotShares {
 public:
  /// The virtual time at which the customer's next job would start. The least one goes first.
  std::int64_t start_us(const std::string& customer) const;
  /// A job of the customer starts.
  void begin(const std::string& customer, std::uint32_t weight = 1);
  /// A job of the customer has ended after `service_time`; zero if it did not start.
  void end(const std::string& customer, microseconds service_time, std::uint32_t weight = 1);

  /// The number of customers remembered: those that have used more than others, at most a thousand.
  std::size_t size() const { return finish_us_.size(); }

 private:
  void forget_half();

  std::map<std::string, std::int64_t> finish_us_;  ///< Later than `now_us_`, mostly.
  std::int64_t now_us_ = 0;                        ///< Virtual time: when the last job started.
  std::int64_t estimate_us_ = 1000;                ///< Moving average of service times.
};

}  // namespace cells
