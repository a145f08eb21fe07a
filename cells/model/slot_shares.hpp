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
  /// The virtual time at which the customer's next job would start, after `ahead` more of the
  /// customer's jobs have started. The least one goes first.
  std::int64_t start_us(const std::string& customer, std::size_t ahead = 0,
                        std::uint32_t weight = 1) const;
  /// A job of the customer starts. Returns what it is charged, for `end`; never 0.
  std::int64_t begin(const std::string& customer, std::uint32_t weight = 1);
  /// A job of the customer has ended after `service_time`; zero if it did not start. Changes
  /// nothing if the job was not charged, or if the customer is forgotten.
  void end(const std::string& customer, microseconds service_time, std::int64_t charged_us,
           std::uint32_t weight = 1);

  /// The number of customers remembered: those that have used more than others, at most a thousand.
  std::size_t size() const { return customers_.size(); }

 private:
  struct Customer {
    std::int64_t clock_us = 0;    ///< When the next job starts, in virtual time.
    std::int64_t charged_us = 0;  ///< For jobs that have not ended.
  };

  void forget_half();

  std::map<std::string, Customer> customers_;
  /// Virtual time: the latest clock of all customers that were served, without the charges for jobs
  /// that had not ended; or later, so that forgotten customers are not behind it.
  std::int64_t now_us_ = 0;
  std::int64_t estimate_us_ = 1000;  ///< Moving average of service times.
};

}  // namespace cells
