// Pruning code that the stores share.
#pragma once

#include <algorithm>

#include "cells/ports/job_store.hpp"

namespace celld::store {

/// Adds what another part of the work has done. If both were cut short, pruning has reached only as
/// far as the one that is further behind.
inline void add_step(cells::EndedPruned& all, const cells::EndedPruned& step) {
  all.pruned += step.pruned;
  if (!step.more) return;
  all.reached = all.more ? std::min(all.reached, step.reached) : step.reached;
  all.more = true;
}

}  // namespace celld::store
