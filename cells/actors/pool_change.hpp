// How a request to change a pool changes the cell's override.
#pragma once

#include "cells/actors/protocol.hpp"

namespace cells {

/// The override after this change. A change that names no setting removes all overrides of the
/// pool.
inline CellOverride changed_by(CellOverride before, const ResizePool& change) {
  if (change.size || change.removes()) before.pool_size = change.size;
  if (change.burst || change.removes()) before.pool_burst = change.burst;
  if (change.weight || change.removes()) before.pool_weight = change.weight;
  return before;
}

}  // namespace cells
