// The messages about slots: how many jobs each cell may run now, when cells borrow from each other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cells/model/capacity_book.hpp"
#include "cells/model/cell_key.hpp"
#include "cells/ports/actor_types.hpp"

namespace cells {

// --- Between the capacity desk and the dispatchers -----------------------------------------------
//
// A dispatcher starts a job only in a slot that it holds. Normally it holds its guarantee and
// reports nothing; it reports when it could use more slots, or when the desk recalls slots for
// other cells (CapacityBook, SlotAccount).

/// From now on this cell may run `count` more jobs; an earlier recall no longer counts.
struct GrantSlots {
  std::uint32_t count = 0;
};

/// Give back all slots beyond `to`: idle ones now, others as their jobs end. What the cell needs
/// of its guarantee stays. Answered with SlotsReported, even if none is given back.
struct RecallSlots {
  std::uint32_t to = 0;
};

}  // namespace cells

CELLS_MESSAGE(GrantSlots)
CELLS_MESSAGE(RecallSlots)

namespace cells {

/// A dispatcher, as the capacity desk uses it.
using SlotHolder = caf::typed_actor<caf::reacts_to<GrantSlots>, caf::reacts_to<RecallSlots>>;

/// The dispatcher of this cell has started, with `running` jobs that already run; it holds their
/// slots and no others. Answered with GrantSlots, once all cells of the start have joined.
struct CellJoined {
  CellKey key;
  SlotHolder holder;
  SlotTerms terms;
  std::uint32_t running = 0;
};

/// The cell gives back slots, and could use `need` slots in all.
struct SlotsReported {
  CellKey key;
  SlotTerms terms;
  std::uint32_t need = 0;
  std::uint32_t returned = 0;
};

/// This cell has closed.
struct CellLeft {
  CellKey key;
};

/// From now on, all cells together may run `running_max` jobs; none: the sum of their guarantees.
struct LimitCapacity {
  std::optional<std::uint64_t> running_max;
};

/// These cells are about to join. Until they have, no slot is granted: their leases outside may
/// have outlived the last daemon.
struct AwaitCells {
  std::vector<CellKey> cells;
};

/// Report what these cells have borrowed and lent, at one moment.
struct DescribeLoans {
  std::vector<CellKey> cells;
};
struct LoansDescribed {
  std::map<CellKey, SlotLoans> loans;
};

}  // namespace cells

CELLS_MESSAGE(CellJoined)
CELLS_MESSAGE(SlotsReported)
CELLS_MESSAGE(CellLeft)
CELLS_MESSAGE(LimitCapacity)
CELLS_MESSAGE(AwaitCells)
CELLS_MESSAGE(DescribeLoans)
CELLS_MESSAGE(LoansDescribed)

namespace cells {

/// Lends the slots that cells leave idle to cells that could use more. One per daemon.
using CapacityDesk = caf::typed_actor<
    /// From a dispatcher.
    caf::reacts_to<CellJoined>, caf::reacts_to<SlotsReported>,
    /// From the cell dispatcher.
    caf::reacts_to<CellLeft>,
    /// Takes effect as running jobs end.
    caf::reacts_to<LimitCapacity>,
    /// Sent once, after the start. Grants no slot until these cells have joined.
    caf::reacts_to<AwaitCells>,
    /// Leaves out cells that it does not know.
    caf::replies_to<DescribeLoans>::with<LoansDescribed>>;

}  // namespace cells
