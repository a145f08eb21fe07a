// Whose turn it is to be served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "cells/model/time.hpp"

namespace cells {

/// Parties take turns by deficit round robin (M. Shreedhar and G. Varghese, "Efficient Fair
/// Queueing using Deficit Round Robin", 1995), charged by service time: an estimate when a service
/// starts, corrected when it ends. Not thread-safe.
class FairTurns {
 public:
  /// Takes part while it is in the ring; must stay at its address then.
  class Party {
   public:
    bool in_ring() const { return in_ring_; }
    /// Whether a service that was charged has not ended.
    bool is_served() const { return !charged_us_.empty(); }

   private:
    friend class FairTurns;
    std::int64_t deficit_us_ = 0;
    std::deque<std::int64_t> charged_us_;  ///< Estimates for its services, oldest first.
    bool in_ring_ = false;
    bool in_turn_ = false;
  };

  /// The party has something to be served: puts it at the back of the ring, unless it is in it.
  void join(Party& party);
  /// The party has nothing more to be served. It keeps what it owes, but no credit.
  void leave(Party& party);

  /// The party whose turn it is, until it is charged or leaves; null when the ring is empty.
  Party* next();
  /// A service of the party begins, in its turn or not.
  void charge(Party& party);
  /// Ends the turn of the party that was charged last, if its credit is used up. True: it is.
  bool pass(Party& party);
  /// The oldest service of the party has ended after `service_time`; zero if it did not begin.
  void ended(Party& party, microseconds service_time);

  /// The party was served elsewhere for so long, which counts as if it had been served here.
  void owe(Party& party, microseconds service_time) { party.deficit_us_ -= service_time.count(); }

  /// The number of parties in the ring.
  std::size_t size() const { return ring_.size(); }

 private:
  void grant_rounds();

  std::deque<Party*> ring_;          ///< In order of turns.
  std::int64_t estimate_us_ = 1000;  ///< Moving average of service times; also the quantum.
};

}  // namespace cells
