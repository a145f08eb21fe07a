// How many unfinished jobs each cell, or each customer in it, has had lately, as it follows from
// committed jobs alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "cells/model/job.hpp"
#include "cells/model/time.hpp"

namespace simulation {

using namespace cells;

/// How long the news of a commit may be on its way to the actors that count jobs.
inline constexpr milliseconds in_transit{200};

struct OfCell {
  using Key = CellKey;
  static Key of(const Job& job) { return job.cell; }
};
struct OfCustomer {
  using Key = std::pair<CellKey, std::string>;
  static Key of(const Job& job) { return {job.cell, job.spec->customer}; }
};

template <class Group>
class RecentCounts {
 public:
  using Key = typename Group::Key;

  /// Earlier changes are forgotten.
  static constexpr std::chrono::seconds memory{10};

  /// `before` is null for a new job.
  void changed(const Job* before, const Job& after, SteadyTime now) {
    const bool was = before && !is_ended(before->state);
    const bool is = !is_ended(after.state);
    const bool moved = before && before->cell != after.cell;
    if (was && (!is || moved)) {
      groups_[Group::of(*before)].unfinished -= 1;
      note(groups_[Group::of(*before)].left, now);
    }
    if (is && (!was || moved)) {
      groups_[Group::of(after)].unfinished += 1;
      note(groups_[Group::of(after)].came, now);
      if (moved) note(groups_[Group::of(after)].moved_here, now);
    }
  }

  std::size_t unfinished(const Key& key) const { return at(key).unfinished; }
  std::size_t came(const Key& key, SteadyTime since) const { return count(at(key).came, since); }
  std::size_t left(const Key& key, SteadyTime since) const { return count(at(key).left, since); }
  std::size_t moved_here(const Key& key, SteadyTime since) const {
    return count(at(key).moved_here, since);
  }

 private:
  using Times = std::deque<SteadyTime>;
  struct Counted {
    std::size_t unfinished = 0;
    Times came;
    Times left;
    Times moved_here;
  };

  const Counted& at(const Key& key) const {
    static const Counted none;
    const auto found = groups_.find(key);
    return found == groups_.end() ? none : found->second;
  }

  static void note(Times& times, SteadyTime now) {
    while (!times.empty() && times.front() < now - memory) times.pop_front();
    times.push_back(now);
  }

  static std::size_t count(const Times& times, SteadyTime since) {
    return static_cast<std::size_t>(times.end() -
                                    std::lower_bound(times.begin(), times.end(), since));
  }

  std::map<Key, Counted> groups_;
};

using CellCounts = RecentCounts<OfCell>;
using CustomerCounts = RecentCounts<OfCustomer>;

}  // namespace simulation
