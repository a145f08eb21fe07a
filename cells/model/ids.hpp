// Identifiers: jobs and places in line, and leases.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cells/model/time.hpp"

namespace cells {

/// Identifies a job; greater means created later. Also the currency of places in an entity's line
/// (`Job::place`), so that a job due at once can use one number for both.
/// Layout: milliseconds since 1970 in the upper 43 bits, a counter in the lower 20; always positive
/// as a signed 64-bit integer. 0 is no id.
using JobId = std::uint64_t;

/// The text form of a JobId: 13 characters of Crockford's base 32, lower case, sortable.
std::string format_job_id(JobId id);

/// The inverse of format_job_id; nothing when `text` is not exactly of that form.
std::optional<JobId> parse_job_id(std::string_view text);

/// The first id of the millisecond `at`: ids are compared with it to ask for "created after".
JobId first_job_id_at(WallTime at);
/// When an id was made, or a place given.
WallTime time_of(JobId id);

/// Hands out strictly increasing ids, from any thread. Follows the wall clock, never backwards.
class JobIdSource {
 public:
  /// No id handed out later is at or below `last`.
  void start_after(JobId last);

  /// The first of `count` consecutive fresh ids.
  JobId next(WallTime now, std::uint64_t count = 1);

 private:
  std::atomic<JobId> last_{0};
};

/// One worker's turn at one step of one job (promise P3). The epoch ascends with the starts of
/// celld on its data directory, the counter counts the leases of one epoch; together they never
/// repeat.
struct Lease {
  std::uint64_t epoch = 0;
  std::uint64_t counter = 0;

  auto operator<=>(const Lease&) const = default;
  explicit operator bool() const { return epoch != 0; }
};

/// "epoch-counter", for logs and traces.
std::string to_string(const Lease& lease);

/// Hands out the leases of one epoch, from any thread.
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
