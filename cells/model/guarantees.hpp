// How much of the daemon's capacity each cell is guaranteed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cells/model/cell_key.hpp"

namespace cells {

/// Divides the capacity between the cells that exist. The sizes of configured cells always fit,
/// because the configuration is refused otherwise. What they leave goes to instances of templates
/// and to sizes that an administrator raised, first come, first served: a cell that finds too
/// little takes what there is, and gets the rest when it becomes free. If capacity is missing after
/// a reload, the cell that came last loses first. Not thread-safe.
class Guarantees {
 public:
  struct Demand {
    std::uint32_t reserved = 0;  ///< At most `wanted`; never denied.
    std::uint32_t wanted = 0;

    bool operator==(const Demand&) const = default;
  };

  /// None: every cell gets what it wants.
  void limit(std::optional<std::uint64_t> total) { total_ = total; }
  /// Takes effect when `divide` is called.
  void set(const CellKey& cell, const Demand& demand);
  void remove(const CellKey& cell);
  /// Returns the cells whose guarantee has changed; removed cells are not among them.
  std::vector<CellKey> divide();

  /// 0 if the cell is not known.
  std::uint32_t of(const CellKey& cell) const;
  /// Whether the cell would have all of this demand, and no other cell less than now.
  bool has_room_for(const CellKey& cell, const Demand& demand) const;

 private:
  struct Entry {
    Demand demand;
    std::uint32_t extra = 0;  ///< Beyond `reserved`.
    std::uint64_t number = 0;

    std::uint32_t missing() const { return demand.wanted - demand.reserved - extra; }
  };

  void enter(const CellKey& cell, const Entry& entry);
  void leave(const Entry& entry);
  void change_extra(const CellKey& cell, std::int64_t by);
  std::int64_t free() const;

  std::optional<std::uint64_t> total_;
  std::uint64_t given_ = 0;  ///< Sum of all guarantees.
  std::map<CellKey, Entry> cells_;
  std::map<std::uint64_t, CellKey> short_;   ///< In order of arrival.
  std::map<std::uint64_t, CellKey> beyond_;  ///< Those that have more than is reserved.
  std::set<CellKey> changed_;
  std::uint64_t last_number_ = 0;
};

}  // namespace cells
