// Identifiers of jobs, places in a line, and leases.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cells/model/time.hpp"

namespace cells {

/// Identifies a job; a greater id was created later. Places in an entity's line (`Job::place`) are
/// drawn from the same numbers, so that a job that is due at once uses its id as its place. Layout:
/// milliseconds since 1970 in the upper 43 bits, a counter in the lower 20; always positive as a
/// signed 64-bit integer. 0 is never an id.
using JobId = std::uint64_t;

/// Identifies a batch (batch.hpp). Generated, formatted and ordered like a JobId, but unique only
/// among batches.
using BatchId = std::uint64_t;

/// The text form of a JobId: 13 characters of Crockford's base 32, lower case, sortable.
std::string format_job_id(JobId id);

/// The inverse of format_job_id; nothing unless `text` has exactly that form.
std::optional<JobId> parse_job_id(std::string_view text);

/// The smallest id of the millisecond `at`, the bound for queries by time of creation.
JobId first_job_id_at(WallTime at);
/// The time at which an id or a place was handed out.
WallTime time_of(JobId id);

/// Hands out strictly increasing ids; thread-safe. Follows the wall clock, but never backwards.
class JobIdSource {
 public:
  /// `offset` is where the counter begins in each millisecond. A different offset at each start of
  /// celld makes it unlikely that an id lost in a crash is handed out again, even if the clock was
  /// set back meanwhile.
  explicit JobIdSource(std::uint64_t offset = 0) : offset_(offset) {}

  /// From now on, every id handed out is greater than `last`.
  void start_after(JobId last);

  /// The first of `count` consecutive new ids.
  JobId next(WallTime now, std::uint64_t count = 1);

 private:
  const std::uint64_t offset_;
  std::atomic<JobId> last_{0};
};

/// One worker's right to one attempt, or to one poll of an operation (promise P3). The epoch rises
/// with each start of celld on its data directory, the counter with each lease of an epoch; a pair
/// never repeats.
struct Lease {
  std::uint64_t epoch = 0;
  std::uint64_t counter = 0;

  auto operator<=>(const Lease&) const = default;
  explicit operator bool() const { return epoch != 0; }
};

/// "epoch-counter", for logs and traces.
std::string to_string(const Lease& lease);

/// Hands out the leases of one epoch; thread-safe.
class LeaseSource {
 public:
  explicit LeaseSource(std::uint64_t epoch) : epoch_(epoch) {}
  Lease next() { return {epoch_, counter_.fetch_add(1, std::memory_order_relaxed) + 1}; }
  std::uint64_t epoch() const { return epoch_; }

 private:
  std::uint64_t epoch_;
  std::atomic<std::uint64_t> counter_{0};
};

}  // namespace cells
