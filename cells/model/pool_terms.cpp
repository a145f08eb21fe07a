#include "cells/model/pool_terms.hpp"

#include <algorithm>

namespace cells {
namespace {

/// The overridden burst, else the configured one, else the size.
std::uint32_t burst_for(std::uint32_t size, const CellSettings& settings,
                        const CellOverride& change) {
  return change.pool_burst.value_or(settings.pool_burst.value_or(size));
}

}  // namespace

PoolTerms pool_terms(const CellSettings& settings, const CellOverride& change) {
  const auto size = change.pool_size.value_or(settings.pool_size);
  return {size, std::max(size, burst_for(size, settings, change)),
          change.pool_weight.value_or(settings.pool_weight)};
}

bool has_burst_below_size(const CellSettings& settings, const CellOverride& change) {
  const auto size = change.pool_size.value_or(settings.pool_size);
  return burst_for(size, settings, change) < size;
}

std::vector<MaskedSetting> masked_pool_settings(const CellKey& cell, const CellSettings& settings,
                                                const CellOverride& change,
                                                std::uint32_t guarantee) {
  const PoolTerms terms = pool_terms(settings, change);
  std::vector<MaskedSetting> masked;
  if (change.pool_size) {
    masked.push_back(
        {cell, "pool.size", settings.pool_size, std::min(*change.pool_size, guarantee)});
  }
  if (change.pool_burst || has_burst_below_size(settings, change)) {
    masked.push_back({cell, "pool.burst", configured_burst(settings), terms.burst});
  }
  if (change.pool_weight) {
    masked.push_back({cell, "pool.weight", settings.pool_weight, *change.pool_weight});
  }
  return masked;
}

}  // namespace cells
