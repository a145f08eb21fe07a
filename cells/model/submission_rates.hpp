// Whether a cell accepts submissions as fast as they come.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cells/model/quota.hpp"
#include "cells/model/rate_limit.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// Holds the submissions of a cell, and of each customer in it, to their rates (RateLimit). A
/// submission counts from the time it was reserved at, but only once it has added a job; until then
/// it holds its turn back from others. Remembers a customer until its whole burst is available
/// again. Not thread-safe.
class SubmissionRates {
 public:
  static constexpr std::size_t customers_max = 100'000;

  /// Submissions so far count under the new rates too.
  void limit(const RateQuota& cell, const RateQuota& customer, SteadyTime now);

  struct TooFast {
    bool of_customer = false;  ///< The rate of the customer, not that of the cell.
    microseconds wait{};       ///< Until there is room for this one and those refused before.
  };
  /// Reserves a turn for a submission; refuses it if it might exceed a rate. `asks_again`: the
  /// batch desk keeps a refused submission and sends it again, so TooFast::wait of others leaves it
  /// out.
  std::optional<TooFast> reserve(const std::string& customer, SteadyTime now,
                                 bool asks_again = false);
  /// The submission that was reserved at `reserved_at` has added a job.
  void confirm(const std::string& customer, SteadyTime reserved_at);
  /// The submission that was reserved at `reserved_at` has added no job.
  void release(const std::string& customer, SteadyTime reserved_at);

  /// Whether past submissions no longer count, as if there had been none.
  bool is_idle(SteadyTime now) const;

  /// Customers that it remembers.
  std::size_t size() const { return customers_.size(); }

 private:
  struct Limited {
    std::optional<RateLimit> limit;          ///< Of the submissions that have added jobs.
    std::optional<RateLimit> with_reserved;  ///< Of these and of `reserved`.
    std::multiset<SteadyTime> reserved;
    /// Submissions that were refused, less those that have been accepted since; they lapse when the
    /// last of them should have come back.
    std::int64_t turned_away = 0;
    SteadyTime lapse{};
  };
  static void change(Limited& limited, const RateQuota& quota, SteadyTime now);
  static std::optional<microseconds> wait_of(Limited& limited, SteadyTime now, bool asks_again);
  static void count_reserved(Limited& limited, SteadyTime now);
  static void confirm(Limited& limited, SteadyTime reserved_at);
  static void release(Limited& limited, SteadyTime reserved_at);
  Limited* find(const std::string& customer);
  void forget_idle(SteadyTime now);

  RateQuota customer_quota_;
  Limited cell_;
  std::map<std::string, Limited> customers_;
  std::size_t forget_at_ = 64;
};

}  // namespace cells
