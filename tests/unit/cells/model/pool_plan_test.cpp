#include "cells/model/pool_plan.hpp"

#include "tests/unit/catch.hpp"

using namespace cells;

TEST_CASE("a pool at its target neither spawns nor retires workers") {
  CHECK(workers_to_spawn({4, 4, 0}) == 0);
  CHECK(workers_to_retire({4, 4, 0}) == 0);
  CHECK(workers_to_spawn({0, 0, 0}) == 0);
  CHECK(workers_to_retire({0, 0, 0}) == 0);
}

TEST_CASE("a pool grows to its target") {
  CHECK(workers_to_spawn({4, 0, 0}) == 4);
  CHECK(workers_to_spawn({4, 3, 0}) == 1);
  CHECK(workers_to_retire({4, 3, 0}) == 0);
}

TEST_CASE("a growth counts the retiring workers that have not left yet") {
  CHECK(workers_to_spawn({4, 2, 1}) == 1);
  CHECK(workers_to_spawn({4, 2, 2}) == 0);
  CHECK(workers_to_spawn({4, 0, 9}) == 0);
}

TEST_CASE("a pool shrinks to its target, however many workers are leaving already") {
  CHECK(workers_to_retire({4, 6, 0}) == 2);
  CHECK(workers_to_retire({4, 6, 3}) == 2);
  CHECK(workers_to_retire({0, 6, 0}) == 6);
  CHECK(workers_to_retire({4, 2, 6}) == 0);
}

TEST_CASE("a pool that is resized repeatedly reaches its last target") {
  PoolHeadcount pool;
  for (const std::uint32_t target : {5U, 1U, 7U, 0U, 3U}) {
    pool.target = target;
    const std::uint32_t leaving = workers_to_retire(pool);
    pool.active -= leaving;
    pool.retiring += leaving;
    pool.active += workers_to_spawn(pool);
    CHECK(pool.active <= target);
  }
  while (pool.retiring > 0) {  // The retiring workers leave one by one.
    pool.retiring -= 1;
    pool.active += workers_to_spawn(pool);
    CHECK(workers_to_retire(pool) == 0);
  }
  CHECK(pool.active == 3);
}
