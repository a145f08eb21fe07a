// The terms of a cell's pool, from its configuration and an administrator's overrides.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cells/model/cell_key.hpp"
#include "cells/model/status.hpp"

namespace cells {

struct PoolTerms {
  std::uint32_t size = 0;
  std::uint32_t burst = 0;  ///< At least the size.
  std::uint32_t weight = 1;

  bool operator==(const PoolTerms&) const = default;
};

/// The configured burst; the size if none is configured.
inline std::uint32_t configured_burst(const CellSettings& settings) {
  return settings.pool_burst.value_or(settings.pool_size);
}

/// A size that exceeds the burst raises the burst, because the configuration and an override may
/// have been set at different times.
PoolTerms pool_terms(const CellSettings& settings, const CellOverride& change);

/// Whether the burst, as configured or overridden, is less than the size.
bool has_burst_below_size(const CellSettings& settings, const CellOverride& change);

/// The pool settings that the override masks, and a burst that an overriding size has raised. The
/// cell is guaranteed `guarantee`, which bounds the size in force.
std::vector<MaskedSetting> masked_pool_settings(const CellKey& cell, const CellSettings& settings,
                                                const CellOverride& change,
                                                std::uint32_t guarantee);

}  // namespace cells
