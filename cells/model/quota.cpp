#include "cells/model/quota.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cells/model/job.hpp"

namespace cells {
namespace {

constexpr std::array<std::string_view, quota_limit_count> names = {
    "queue.max_jobs",
    "queue.max_bytes",
    "queue.submissions_per_s",
    "queue.submissions_burst",
    "customers.quota.max_jobs",
    "customers.quota.max_bytes",
    "customers.quota.max_running",
    "customers.quota.submissions_per_s",
    "customers.quota.submissions_burst"};

constexpr std::uint64_t bytes_per_job = 512;

}  // namespace

std::uint32_t RateQuota::burst_in_force() const {
  if (burst > 0) return burst;
  return static_cast<std::uint32_t>(std::max(1.0, std::ceil(per_s)));
}

std::string_view to_string(QuotaLimit limit) {
  return names[static_cast<std::size_t>(limit)];
}

bool parse_quota_limit(std::string_view name, QuotaLimit& limit) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return false;
  limit = static_cast<QuotaLimit>(found - names.begin());
  return true;
}

std::optional<CustomerFull> refuse_room(const CustomerRoom& room, std::uint64_t jobs,
                                        std::uint64_t bytes, std::uint64_t added) {
  if (room.jobs_max != 0 && jobs >= room.jobs_max) {
    return CustomerFull{true, room.jobs_max, jobs, jobs};
  }
  if (room.bytes_max != 0 && bytes + added > room.bytes_max) {
    return CustomerFull{false, room.bytes_max, bytes, jobs};
  }
  return std::nullopt;
}

std::uint64_t queued_bytes(const JobSpec& spec) {
  std::uint64_t bytes = bytes_per_job + spec.parameters.size() + spec.entity.id.size();
  for (const auto& [name, value] : spec.labels) bytes += name.size() + value.size();
  return bytes;
}

}  // namespace cells
