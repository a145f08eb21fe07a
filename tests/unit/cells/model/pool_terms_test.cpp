#include "cells/model/pool_terms.hpp"

#include "tests/unit/catch.hpp"

using namespace cells;

namespace {

CellSettings configured(std::uint32_t size, std::optional<std::uint32_t> burst) {
  CellSettings settings;
  settings.pool_size = size;
  settings.pool_burst = burst;
  return settings;
}

CellOverride overridden(std::optional<std::uint32_t> size, std::optional<std::uint32_t> burst) {
  CellOverride change;
  change.pool_size = size;
  change.pool_burst = burst;
  return change;
}

}  // namespace

TEST_CASE("the burst follows the size while it is not set") {
  CHECK(pool_terms(configured(4, {}), {}) == PoolTerms{4, 4, 1});
  CHECK(pool_terms(configured(4, {}), overridden(9, {})) == PoolTerms{9, 9, 1});
  CHECK(pool_terms(configured(4, 6), {}) == PoolTerms{4, 6, 1});
  CHECK(pool_terms(configured(4, 6), overridden({}, 8)) == PoolTerms{4, 8, 1});
}

TEST_CASE("a size that exceeds the burst raises it") {
  CHECK(pool_terms(configured(4, 6), overridden(9, {})) == PoolTerms{9, 9, 1});
  CHECK(has_burst_below_size(configured(4, 6), overridden(9, {})));
  CHECK_FALSE(has_burst_below_size(configured(4, 6), overridden(6, {})));
  CHECK_FALSE(has_burst_below_size(configured(4, {}), overridden(9, {})));
  CHECK(has_burst_below_size(configured(4, {}), overridden({}, 3)));
}

TEST_CASE("masked settings are those that a change masks or that are not all in force") {
  const CellKey cell{"acme", "*"};
  CHECK(masked_pool_settings(cell, configured(4, 6), {}, 4).empty());
  CellOverride change = overridden(9, {});
  change.pool_weight = 3;
  const auto masked = masked_pool_settings(cell, configured(4, 6), change, 7);
  REQUIRE(masked.size() == 3);
  CHECK(masked[0].setting == "pool.size");
  CHECK(masked[0].configured == 4);
  CHECK(masked[0].in_force == 7);
  CHECK(masked[1].setting == "pool.burst");
  CHECK(masked[1].configured == 6);
  CHECK(masked[1].in_force == 9);
  CHECK(masked[2].setting == "pool.weight");
  CHECK(masked[2].configured == 1);
  CHECK(masked[2].in_force == 3);
}
