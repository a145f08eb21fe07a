// The slots of the daemon: how many each cell holds now, and how many it must give back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cells/model/cell_key.hpp"
#include "cells/model/max_min_shares.hpp"

namespace cells {

/// What a cell may run at once.
struct SlotTerms {
  std::uint32_t guarantee = 0;
  std::uint32_t burst = 0;   ///< The most that it may run, borrowed slots included.
  std::uint32_t weight = 1;  ///< When idle slots are divided.

  bool operator==(const SlotTerms&) const = default;
};

/// The slots that a cell has borrowed from other cells, and those that it has lent to them.
struct SlotLoans {
  std::uint32_t borrowed = 0;  ///< Slots that the cell has beyond its guarantee.
  std::uint32_t lent = 0;      ///< Slots of its guarantee that it lacks.
};

/// Keeps account of the slots that the cells hold. A cell starts a job only in a slot that it
/// holds, so all cells together never start one beyond the total. Without a limit, slots of
/// jobs that still run beyond a lowered burst do not count as held, so that other cells need not
/// wait for their guarantees.
///
/// A cell that needs no more than its guarantee holds all of it and reports nothing. The book takes
/// such a cell to be idle. When another cell needs a slot, the book recalls one from the idle cell,
/// which then reports how many it needs. If a cell holds more slots than its share in MaxMinShares,
/// it gives the excess back as its jobs end. Slots that no cell needs return to the guarantees that
/// they came from.
///
/// Pure: the caller carries out the orders. A report or an order costs O(log n) for each slot that
/// moves. Not thread-safe.
class CapacityBook {
 public:
  /// An order to a cell. Either `grant` or `recall_to` is set.
  struct Order {
    CellKey cell;
    std::optional<std::uint32_t> grant{};  ///< More slots; forget an earlier recall.
    /// Give back all slots beyond this number: idle ones now, others as their jobs end. A cell
    /// keeps what it needs of its guarantee. It answers with a report.
    std::optional<std::uint32_t> recall_to{};

    bool operator==(const Order&) const = default;
  };

  /// From now on the book grants slots, and answers each cell that has joined. Until then it only
  /// lets cells join, because a cell that has not joined yet may have running jobs.
  void open();
  /// How many jobs all cells together may run; none: the sum of their guarantees.
  void limit(std::optional<std::uint64_t> total);
  /// The cell starts, or starts again after it died, with `running` jobs that already run: it holds
  /// their slots and no others. Once the book is open, the cell receives a grant, possibly of no
  /// slots.
  void join(const CellKey& cell, const SlotTerms& terms, std::uint32_t running);
  /// The cell gives back slots, and could use `need` in all. False: there is no such cell.
  bool report(const CellKey& cell, const SlotTerms& terms, std::uint32_t need,
              std::uint32_t returned);
  void leave(const CellKey& cell);

  /// The orders since the last call.
  std::vector<Order> take_orders() { return std::exchange(orders_, {}); }

  /// Unless a limit exceeds the sum of all guarantees, or was lowered below what runs, the sums of
  /// both members over all cells are equal.
  SlotLoans loans(const CellKey& cell) const;
  /// The slots that all cells hold.
  std::uint64_t held() const { return held_; }
  std::uint64_t total() const { return limit_.value_or(guarantees_); }

 private:
  using Id = MaxMinShares::Id;
  struct Entry {
    CellKey key;
    SlotTerms terms;
    std::uint32_t need = 0;
    std::uint32_t held = 0;
    std::optional<std::uint32_t> recall_to{};  ///< Less than `held`.
    bool has_answered = false;                 ///< It answered the recall: jobs use what it holds.
    std::uint32_t lacks = 0;                   ///< As counted in `wanted_`.
    std::uint32_t within = 0;                  ///< As counted in `within_`.
    std::uint32_t recalled = 0;                ///< As counted in `recalled_`.
    std::uint64_t wants_since = 0;             ///< Orders the cells that want slots; 0: wants none.

    std::uint32_t expected() const { return recall_to.value_or(held); }
  };
  /// Cells that want a part of their guarantee come first.
  using Priority = std::pair<bool, std::uint64_t>;

  void drop(const CellKey& cell);
  void change(Id id, const SlotTerms& terms, std::uint32_t need);
  void rebalance();
  void refresh(Id id);
  void grant_wanted();
  void recall_missing();
  void restore();
  std::uint32_t counted(const Entry& entry, std::uint32_t slots) const;
  void count_within(Entry& entry);
  void note(Id id, Entry& entry);
  void erase_notes(Id id, Entry& entry);
  void grant(Id id, std::uint32_t count);
  void recall(Id id, std::uint32_t to);
  std::int64_t free() const;

  bool is_open_ = false;
  std::optional<std::uint64_t> limit_;
  std::uint64_t guarantees_ = 0;
  std::uint64_t held_ = 0;
  std::uint64_t within_ = 0;    ///< Of these, the slots within the bursts of their cells.
  std::uint64_t wanted_ = 0;    ///< Slots that cells lack of their shares.
  std::uint64_t recalled_ = 0;  ///< Slots that are to be given back, and may be idle.
  MaxMinShares shares_;
  std::map<CellKey, Id> ids_;
  std::map<Id, Entry> cells_;
  std::map<Priority, Id> wanting_;         ///< Cells that hold less than their share.
  std::set<std::pair<bool, Id>> surplus_;  ///< Cells that hold more; true: beyond the guarantee.
  std::set<Id> lacking_;                   ///< Cells that hold less than their guarantee.
  Id last_id_ = 0;
  std::uint64_t last_want_ = 0;
  std::vector<Order> orders_;
};

}  // namespace cells
