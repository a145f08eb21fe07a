// Whether a cell accepts another job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cells/model/end_rate_meter.hpp"
#include "cells/model/quota.hpp"
#include "cells/model/submission.hpp"
#include "cells/model/submission_rates.hpp"

namespace cells {

/// The clients that a full cell has refused and has not yet had room for. The cell tells each
/// to return later than those before it: if they all returned at once, all but one would be refused
/// again.
class TurnedAway {
 public:
  /// Counts another client, and returns how many are ahead of it. Wraps at `jobs_max`, so that
  /// clients that never return cannot push later ones back without end.
  std::uint64_t add(std::uint64_t jobs_max) {
    const auto before = awaited_ < jobs_max ? awaited_ : 0;
    awaited_ = before + 1;
    return before;
  }
  void job_ended() {
    if (awaited_ > 0) awaited_ -= 1;
  }

 private:
  std::uint64_t awaited_ = 0;
};

/// Refuses a job when `unfinished` has reached `jobs_max` (promise P9). The refusal's retry_after
/// is the time until there is room for this client and for those `turned_away` before it, at
/// `finished_per_s`, the measured rate at which jobs end.
std::optional<Refusal> refuse_full(const CellKey& cell, std::uint64_t unfinished,
                                   std::uint64_t jobs_max, double finished_per_s,
                                   TurnedAway& turned_away);

/// Refuses a job of `added` bytes when the unfinished jobs of the cell would then take more than
/// `bytes_max` (0: no bound). retry_after assumes that the jobs are of equal size.
std::optional<Refusal> refuse_bytes(const CellKey& cell, const JobCounts& counts,
                                    std::uint64_t bytes_max, std::uint64_t added,
                                    double finished_per_s, TurnedAway& turned_away);

/// Refuses a job of `added` bytes because the quota of its customer has no room for it.
/// `finished_per_s` and `turned_away` are the customer's, not the cell's.
Refusal refuse_customer(const CellKey& cell, const CustomerFull& full, std::uint64_t added,
                        double finished_per_s, TurnedAway& turned_away);

/// Refuses a job that alone counts for more bytes than a quota of its cell allows. For cells that
/// keep their jobs on disk.
std::optional<Refusal> refuse_too_large(const CellKey& cell, std::uint64_t bytes,
                                        const CellSettings& settings);

/// Refuses a job that came too fast.
Refusal refuse_rate(const CellKey& cell, const SubmissionRates::TooFast& too_fast,
                    const CellSettings& settings);

/// How fast the jobs of each customer end, and how many of its clients were turned away, for
/// refuse_customer. Remembers at most a thousand customers: those whose jobs ended most recently.
class CustomerEndRates {
 public:
  struct Customer {
    EndRateMeter ended;
    TurnedAway turned_away;
  };

  void job_ended(const std::string& customer, SteadyTime now);
  /// The entry of this customer, added if there is none.
  Customer& of(const std::string& customer);
  void clear() { customers_.clear(); }
  std::size_t size() const { return customers_.size(); }

 private:
  void forget_half();

  std::map<std::string, Customer> customers_;
};

/// Refuses a job because the memory for jobs is full. retry_after is the time until enough of the
/// cell's `unfinished` jobs have ended: one for this client, and one for each client `turned_away`
/// before it. A job that can never have room is refused as too large.
Refusal refuse_memory(const CellKey& cell, const MemoryFull& full, std::uint64_t unfinished,
                      double finished_per_s, TurnedAway& turned_away);

/// Refuses a timeout above the cell's maximum.
std::optional<Refusal> refuse_timeout(const CellKey& cell, milliseconds asked,
                                      milliseconds timeout_max);

Refusal refuse_draining(const CellKey& cell);
Refusal refuse_reused_key(const CellKey& cell);

}  // namespace cells
