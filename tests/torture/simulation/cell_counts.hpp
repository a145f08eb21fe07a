// How many unfinished jobs each cell has had lately, as it follows from committed jobs alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>

#include "cells/model/job.hpp"
#include "cells/model/time.hpp"

namespace simulation {

using namespace cells;

class CellCounts {
 public:
  /// Earlier changes are forgotten.
  static constexpr std::chrono::seconds memory{10};

  /// `before` is null for a new job.
  void changed(const Job* before, const Job& after, SteadyTime now) {
    const bool was = before && !is_ended(before->state);
    const bool is = !is_ended(after.state);
    const bool moved = before && before->cell != after.cell;
    if (was && !is) note(cells_[before->cell].ended, now);
    if (was && (!is || moved)) {
      cells_[before->cell].unfinished -= 1;
      note(cells_[before->cell].left, now);
    }
    if (is && (!was || moved)) {
      cells_[after.cell].unfinished += 1;
      note(cells_[after.cell].came, now);
      if (moved) note(cells_[after.cell].moved_here, now);
    }
  }

  std::size_t unfinished(const CellKey& cell) const { return at(cell).unfinished; }
  std::size_t came(const CellKey& cell, SteadyTime since) const {
    return count(at(cell).came, since);
  }
  std::size_t left(const CellKey& cell, SteadyTime since) const {
    return count(at(cell).left, since);
  }
  std::size_t ended(const CellKey& cell, SteadyTime since) const {
    return count(at(cell).ended, since);
  }
  std::size_t moved_here(const CellKey& cell, SteadyTime since) const {
    return count(at(cell).moved_here, since);
  }

 private:
  using Times = std::deque<SteadyTime>;
  struct Cell {
    std::size_t unfinished = 0;
    Times came;
    Times left;
    Times ended;
    Times moved_here;
  };

  const Cell& at(const CellKey& cell) const {
    static const Cell none;
    const auto found = cells_.find(cell);
    return found == cells_.end() ? none : found->second;
  }

  static void note(Times& times, SteadyTime now) {
    while (!times.empty() && times.front() < now - memory) times.pop_front();
    times.push_back(now);
  }

  static std::size_t count(const Times& times, SteadyTime since) {
    return static_cast<std::size_t>(times.end() -
                                    std::lower_bound(times.begin(), times.end(), since));
  }

  std::map<CellKey, Cell> cells_;
};

}  // namespace simulation
