// How many jobs of each customer run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace cells {

/// Counts the live leases of each customer in a cell. It takes memory only for those that have one.
class RunningQuota {
 public:
  /// Bounds the leases of one customer; 0: any number.
  void limit(std::uint32_t running_max) { running_max_ = running_max; }

  void begin(const std::string& customer) { running_[customer] += 1; }
  void end(const std::string& customer) {
    const auto found = running_.find(customer);
    if (found != running_.end() && --found->second == 0) running_.erase(found);
  }

  /// Whether the customer may not start another job.
  bool is_reached(const std::string& customer) const {
    if (running_max_ == 0) return false;
    const auto found = running_.find(customer);
    return found != running_.end() && found->second >= running_max_;
  }

  /// Customers with a lease.
  const std::map<std::string, std::uint32_t>& running() const { return running_; }

 private:
  std::uint32_t running_max_ = 0;
  std::map<std::string, std::uint32_t> running_;
};

}  // namespace cells
