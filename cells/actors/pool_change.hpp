// What a request to change a pool makes of an override.
#pragma once

#include "cells/actors/protocol.hpp"

namespace cells {

/// The override with this change, which undoes the whole pool's if it names no setting.
inline CellOverride changed_by(CellOverride before, const ResizePool& change) {
  if (change.size || change.undoes()) before.pool_size = change.size;
  if (change.burst || change.undoes()) before.pool_burst = change.burst;
  if (change.weight || change.undoes()) before.pool_weight = change.weight;
  return before;
}

}  // namespace cells
