// How long to wait before a retry.
#pragma once

#include <cstdint>
#include <optional>

#include "cells/model/cell_settings.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// The delay before the next attempt, after `attempts` of them: capped exponential backoff with
/// full jitter (M. Brooker, "Exponential Backoff And Jitter", 2015). `random`, in [0, 1), picks a
/// point between 0 and min(backoff_max, backoff × 2^(attempts − 1)). The provider's `retry_after`
/// is a lower bound, honoured up to ten times `backoff_max`.
milliseconds retry_delay(const RetryPolicy& policy, std::uint32_t attempts, double random,
                         std::optional<milliseconds> retry_after);

/// As if there had been as many attempts as fit into `since_first`, the time since the first one:
/// for attempts that are not counted.
std::uint32_t attempts_within(const RetryPolicy& policy, milliseconds since_first);

}  // namespace cells
