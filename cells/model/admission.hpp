// How many jobs a cell takes on.
#pragma once

#include <cstdint>
#include <optional>

#include "cells/model/submission.hpp"

namespace cells {

/// The clients that a full cell has told to come back. Each is told to come after those before it,
/// one as one place comes free: a crowd that came at once would be refused again, but for one.
class TurnedAway {
 public:
  /// One client more; how many are to come before it. Begins anew beyond as many as the queue has
  /// places: of those that do not come back nobody has to wait for more.
  std::uint64_t add(std::uint64_t jobs_max) {
    const auto before = awaited_ < jobs_max ? awaited_ : 0;
    awaited_ = before + 1;
    return before;
  }
  /// A job has ended.
  void place_came_free() {
    if (awaited_ > 0) awaited_ -= 1;
  }

 private:
  std::uint64_t awaited_ = 0;
};

/// Whether a cell with `unfinished` jobs takes one more (promise P9). `finished_per_s` is the
/// measured drain rate: the refusal's retry_after is the time in which a place comes free for this
/// client and those who were `turned_away` before.
std::optional<Refusal> refuse_full(const CellKey& cell, std::uint64_t unfinished,
                                   std::uint64_t jobs_max, double finished_per_s,
                                   TurnedAway& turned_away);

/// Whether the cell grants the timeout that the job asks for.
std::optional<Refusal> refuse_timeout(const CellKey& cell, milliseconds asked,
                                      milliseconds timeout_max);

/// The cell takes no jobs until an administrator lets it go on.
Refusal refuse_draining(const CellKey& cell);

/// Another request of the customer holds the idempotency key.
Refusal refuse_reused_key(const CellKey& cell);

}  // namespace cells
