// Limits on the jobs of a cell, and of each customer in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace cells {

struct JobSpec;

/// How fast jobs may be submitted.
struct RateQuota {
  double per_s = 0;         ///< In the long run; 0: any rate.
  std::uint32_t burst = 0;  ///< At once; 0: what `per_s` allows in a second, at least one.

  std::uint32_t burst_in_force() const;
  bool operator==(const RateQuota&) const = default;
};

/// For each customer by itself. 0: any number.
struct CustomerQuota {
  std::uint64_t jobs_max = 0;     ///< Unfinished jobs.
  std::uint64_t bytes_max = 0;    ///< Their queued_bytes.
  std::uint32_t running_max = 0;  ///< Live leases.
  RateQuota submissions;

  bool operator==(const CustomerQuota&) const = default;
};

/// The limits that a client can run into, or an administrator override.
enum class QuotaLimit : std::uint8_t {
  queue_jobs,
  queue_bytes,
  queue_rate,
  queue_burst,
  customer_jobs,
  customer_bytes,
  customer_running,
  customer_rate,
  customer_burst,
};
inline constexpr std::size_t quota_limit_count = 9;

/// Names of the configuration: "queue.max_jobs", "customers.quota.max_jobs".
std::string_view to_string(QuotaLimit limit);
/// False for an unknown name.
bool parse_quota_limit(std::string_view name, QuotaLimit& limit);

/// What an administrator set instead of the configured limits; 0: none.
using QuotaOverride = std::map<QuotaLimit, double>;

/// Limits on the unfinished jobs of one customer in one cell; 0: no limit.
struct CustomerRoom {
  std::uint64_t jobs_max = 0;
  std::uint64_t bytes_max = 0;  ///< Of their queued_bytes.

  bool operator==(const CustomerRoom&) const = default;
};
/// The limit that leaves no room for another job.
struct CustomerFull {
  bool in_jobs = false;     ///< The number of jobs; otherwise their bytes.
  std::uint64_t limit = 0;  ///< The limit's value.
  std::uint64_t depth = 0;  ///< How much of it is in use.
  std::uint64_t jobs = 0;   ///< The customer's unfinished jobs.

  bool operator==(const CustomerFull&) const = default;
};

/// There is no room for a job in memory.
struct MemoryFull {
  bool in_cell = false;     ///< The bound of the cell's jobs; otherwise that of all jobs in memory.
  std::uint64_t limit = 0;  ///< The bound, in bytes.
  std::uint64_t depth = 0;  ///< Bytes in use.
  std::uint64_t added = 0;  ///< The bytes of the job itself.

  bool operator==(const MemoryFull&) const = default;
};

/// The limit that leaves a customer with this many unfinished jobs, and this many bytes in them, no
/// room for a job of `added` bytes; none if there is room.
std::optional<CustomerFull> refuse_room(const CustomerRoom& room, std::uint64_t jobs,
                                        std::uint64_t bytes, std::uint64_t added);

/// What a job counts for in a quota of bytes: the client's data, and a fixed amount for the rest.
/// Never changes while the job exists. Databases store sums of it: see version 10 of the schema.
std::uint64_t queued_bytes(const JobSpec& spec);

}  // namespace cells
