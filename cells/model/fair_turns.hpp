// Whose turn it is to be served.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "cells/model/time.hpp"

namespace cells {

/// Parties take turns by start-time fair queueing (P. Goyal, H. M. Vin and H. Cheng, "Start-Time
/// Fair Queueing", 1996), charged by service time: an estimate when a service starts, corrected
/// when it ends. (As in that paper, a *service* is one period of being served.) Each party has
/// a clock, which its service advances by time / weight; the party with the earliest clock goes
/// first. Not thread-safe.
///
/// While services do not overlap, a party gets at least what the fluid model (GPS) gives it, minus
/// at most the longest service of each party, its own included (docs/reliability.md, P7).
class FairTurns {
 public:
  /// Takes part while it is in the ring, and must not move in memory during that time.
  class Party {
   public:
    bool in_ring() const { return membership_ == Membership::ring; }
    /// Whether a service that was charged has not ended.
    bool is_served() const { return !charged_us_.empty(); }

   private:
    friend class FairTurns;
    enum class Membership : std::uint8_t { outside, ring, suspended };

    std::int64_t clock_us_ = 0;    ///< When its next service starts, in virtual time.
    std::int64_t entered_us_ = 0;  ///< Its clock when it entered the ring.
    std::uint64_t order_ = 0;      ///< Among parties with equal clocks the lower goes first.
    std::uint32_t weight_ = 1;
    Membership membership_ = Membership::outside;
    /// How far each service that has not ended has moved the clock, oldest service first.
    std::deque<std::int64_t> charged_us_;
    std::int64_t charged_sum_us_ = 0;
  };

  /// The party has work: it enters the ring, unless it is in the ring already. Service beyond its
  /// share still counts against it, but a share that it did not use is not credited.
  void join(Party& party);
  /// The party has no more work.
  void leave(Party& party);
  /// The party's next work is on its way: the party leaves the ring, and keeps its clock until it
  /// joins again.
  void suspend(Party& party);

  /// The party whose turn it is; null when the ring is empty.
  Party* next();
  /// The first party in the order of their turns for which `wanted` is true; null if there is none.
  template <class Wanted>
  const Party* next(const Wanted& wanted) const {
    const auto found = std::find_if(ring_.begin(), ring_.end(),
                                    [&](const Party* party) { return wanted(*party); });
    return found == ring_.end() ? nullptr : *found;
  }
  /// Whether `a` has its turn before `b`. A party outside the ring counts as if it joined now.
  bool starts_before(const Party& a, const Party& b) const;
  /// A service of the party begins, in its turn or not.
  void charge(Party& party);
  /// Whether the party has been served, since it entered the ring, for as long as `weight` average
  /// services take.
  bool has_had_turn(const Party& party) const {
    return party.clock_us_ - party.entered_us_ >= estimate_us_;
  }
  /// The oldest service of the party has ended after `service_time`; zero if it did not begin.
  void ended(Party& party, microseconds service_time);

  /// The party was served elsewhere for `service_time`, which counts as if it had been served here.
  void owe(Party& party, microseconds service_time);

  /// `weight` is greater than 0. A party of twice the weight gets twice the service time.
  void set_weight(Party& party, std::uint32_t weight);

  /// Virtual time: the latest clock of all parties that were served, not counting estimates.
  std::int64_t now_us() const { return now_us_; }
  std::int64_t clock_us(const Party& party) const { return party.clock_us_; }
  /// For a new party that was served before it came here.
  void set_clock(Party& party, std::int64_t clock_us) { party.clock_us_ = clock_us; }

  /// The number of parties in the ring, or suspended.
  std::size_t size() const { return ring_.size() + suspended_; }
  /// The sum of their weights.
  std::uint64_t weight() const { return weight_; }

 private:
  struct Earlier {
    bool operator()(const Party* a, const Party* b) const {
      return a->clock_us_ != b->clock_us_ ? a->clock_us_ < b->clock_us_ : a->order_ < b->order_;
    }
  };

  void enter(Party& party);
  void move_clock(Party& party, std::int64_t by_us);

  std::set<Party*, Earlier> ring_;
  std::size_t suspended_ = 0;
  std::uint64_t weight_ = 0;
  std::int64_t now_us_ = 0;
  std::uint64_t last_order_ = 0;
  std::int64_t estimate_us_ = 1000;  ///< Moving average of service times.
};

/// The clocks of parties that have left while ahead of virtual time, so that a party cannot escape
/// its debt by leaving. Remembers the 500 to 1,000 that are furthest ahead.
class ClockMemory {
 public:
  void note(const std::string& name, std::int64_t clock_us, std::int64_t now_us);
  /// Forgets the clock, and returns it; 0 if there is none.
  std::int64_t take(const std::string& name);
  /// The party has been served elsewhere. Changes nothing if its clock is not remembered.
  void add(const std::string& name, std::int64_t by_us);

  std::size_t size() const { return clocks_us_.size(); }

 private:
  std::map<std::string, std::int64_t> clocks_us_;
};

}  // namespace cells
