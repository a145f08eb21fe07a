// How many jobs each cell may run, when cells may run more than they are guaranteed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace cells {

/// Each cell has what it asks for, up to its guarantee. What the guarantees leave idle is divided
/// between the cells that ask for more, in whole slots, max-min fair by weight (D. Bertsekas and R.
/// Gallager, "Data Networks", 1992, section 6.5.2): a cell could gain a slot only at the expense of
/// one that has no more slots per unit of weight. Work-conserving: capacity is left over only if
/// no cell may take it.
///
/// A change costs O(log n) for each slot that moves, whatever the number of cells; slots move only
/// if the shares would be unfair otherwise. Not thread-safe.
class MaxMinShares {
 public:
  using Id = std::uint64_t;  ///< Of a cell.

  struct Demand {
    std::uint32_t guarantee = 0;
    std::uint32_t burst = 0;   ///< At least the guarantee.
    std::uint32_t weight = 1;  ///< At least 1.
    std::uint32_t jobs = 0;    ///< How many jobs the cell could run.

    bool operator==(const Demand&) const = default;
  };

  /// The sum of all shares is at most `total`, unless the guarantees alone exceed it.
  void limit(std::uint64_t total);
  void set(Id cell, const Demand& demand);
  void remove(Id cell);

  /// How many jobs the cell may run; 0 if it is not known.
  std::uint32_t share(Id cell) const;
  /// The cells whose share or demand may have changed since the last call, in ascending order.
  std::vector<Id> take_changed();

 private:
  struct Entry {
    Demand demand;
    std::uint32_t extra = 0;  ///< Its share beyond its guarantee.

    std::uint32_t guaranteed() const;
    std::uint32_t extra_max() const;
  };
  /// `slots` divided by `weight`. Of two equal levels, the one with the greater weight is ordered
  /// first.
  struct Level {
    std::uint64_t slots = 0;
    std::uint64_t weight = 1;
    Id cell = 0;

    bool operator<(const Level& other) const;
    bool is_above(const Level& other) const { return slots * other.weight > other.slots * weight; }
  };

  void enter(Id cell, const Entry& entry);
  void leave(Id cell, const Entry& entry);
  void change_extra(Id cell, std::int32_t by);
  void rebalance();
  std::uint64_t room() const { return total_ > guaranteed_ ? total_ - guaranteed_ : 0; }

  std::uint64_t total_ = 0;
  std::uint64_t guaranteed_ = 0;  ///< Sum over all cells.
  std::uint64_t extra_ = 0;       ///< Sum over all cells.
  std::map<Id, Entry> cells_;
  std::set<Level> growing_;  ///< Cells that could have one more: the level without it.
  std::set<Level> giving_;   ///< Cells that have some: the level without the last one.
  std::set<Id> changed_;
};

}  // namespace cells
