// When to try again.
#pragma once

#include <cstdint>
#include <optional>

#include "cells/model/cell_settings.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// How long to wait before the next attempt after `attempts` have been made: capped exponential
/// backoff with full jitter (M. Brooker, "Exponential Backoff And Jitter", 2015): uniform between
/// 0 and min(backoff_max, backoff × 2^(attempts − 1)), where `random` in [0, 1) picks.
/// What the provider asked for is a lower bound, honoured up to ten times `backoff_max`.
milliseconds retry_delay(const RetryPolicy& policy, std::uint32_t attempts, double random,
                         std::optional<milliseconds> retry_after);

}  // namespace cells
