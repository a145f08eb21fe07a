// How many jobs a cell takes on.
#pragma once

#include <cstdint>
#include <optional>

#include "cells/model/submission.hpp"

namespace cells {

/// Whether a cell with `unfinished` jobs takes one more (promise P9). `finished_per_s` is the
/// measured drain rate: the refusal's retry_after is the time in which one place comes free.
std::optional<Refusal> refuse_full(const CellKey& cell, std::uint64_t unfinished,
                                   std::uint64_t jobs_max, double finished_per_s);

/// Whether the cell grants the timeout that the job asks for.
std::optional<Refusal> refuse_timeout(const CellKey& cell, milliseconds asked,
                                      milliseconds timeout_max);

/// The cell takes no jobs until an administrator lets it go on.
Refusal refuse_draining(const CellKey& cell);

/// Another request of the customer holds the idempotency key.
Refusal refuse_reused_key(const CellKey& cell);

}  // namespace cells
