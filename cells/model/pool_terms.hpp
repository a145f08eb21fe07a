// What the pool of a cell may be, from its configuration and an administrator's changes.
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

/// A size that exceeds the burst raises it: the configuration and a change may come from different
/// times.
PoolTerms pool_terms(const CellSettings& settings, const CellOverride& change);

/// Whether the burst, as configured or as set, is less than the size.
bool has_burst_below_size(const CellSettings& settings, const CellOverride& change);

/// The settings of the pool that the change masks, or of which not all is in force. The cell is
/// guaranteed `guarantee`.
std::vector<MaskedSetting> masked_pool_settings(const CellKey& cell, const CellSettings& settings,
                                                const CellOverride& change,
                                                std::uint32_t guarantee);

}  // namespace cells
