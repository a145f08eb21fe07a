#include "cells/model/guarantees.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/unit/catch.hpp"

using namespace cells;

namespace {

const CellKey a{"a", "*"};
const CellKey b{"b", "*"};
const CellKey c{"c", "*"};

}  // namespace

TEST_CASE("without a limit every cell is guaranteed what it wants") {
  Guarantees guarantees;
  guarantees.set(a, {0, 100'000});
  guarantees.set(b, {4, 4});
  CHECK(guarantees.divide() == std::vector{a, b});
  CHECK(guarantees.of(a) == 100'000);
  CHECK(guarantees.of(b) == 4);
  CHECK(guarantees.has_room_for(b, {4, 100'000}));
  CHECK(guarantees.of(c) == 0);
}

TEST_CASE("a cell that finds too little takes what there is, and later the rest") {
  Guarantees guarantees;
  guarantees.limit(10);
  guarantees.set(a, {4, 4});
  guarantees.set(b, {0, 5});
  guarantees.set(c, {0, 5});
  guarantees.divide();
  CHECK(guarantees.of(b) == 5);
  CHECK(guarantees.of(c) == 1);
  guarantees.remove(b);
  CHECK(guarantees.divide() == std::vector{c});
  CHECK(guarantees.of(c) == 5);
}

TEST_CASE("a configured size is never denied: the cell that came last loses first") {
  Guarantees guarantees;
  guarantees.limit(10);
  guarantees.set(a, {0, 4});
  guarantees.set(b, {0, 4});
  guarantees.divide();
  guarantees.set(c, {5, 5});
  CHECK(guarantees.divide() == std::vector{b, c});
  CHECK(guarantees.of(a) == 4);
  CHECK(guarantees.of(b) == 1);
  CHECK(guarantees.of(c) == 5);
}

TEST_CASE("a raised size has room if no other cell loses by it") {
  Guarantees guarantees;
  guarantees.limit(10);
  guarantees.set(a, {4, 4});
  guarantees.set(b, {4, 4});
  guarantees.divide();
  CHECK(guarantees.has_room_for(a, {4, 6}));
  CHECK_FALSE(guarantees.has_room_for(a, {4, 7}));
  guarantees.set(b, {2, 2});
  guarantees.divide();
  CHECK(guarantees.has_room_for(a, {4, 8}));
}

TEST_CASE("a raised size keeps what it has when the reserved part changes") {
  Guarantees guarantees;
  guarantees.limit(10);
  guarantees.set(a, {4, 8});
  guarantees.divide();
  guarantees.set(a, {6, 8});
  guarantees.divide();
  CHECK(guarantees.of(a) == 8);
  guarantees.set(a, {6, 6});
  guarantees.divide();
  CHECK(guarantees.of(a) == 6);
  guarantees.limit(20);
  guarantees.set(a, {6, 6});
  CHECK(guarantees.divide().empty());
}

TEST_CASE("whatever changes, guarantees fit the limit and leave nothing that is wanted") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    Guarantees guarantees;
    std::map<CellKey, Guarantees::Demand> demands;
    std::uint64_t total = 12;
    guarantees.limit(total);
    for (int step = 0; step < 60; ++step) {
      const CellKey key{std::string(1, static_cast<char>('a' + below(4))), "*"};
      if (below(5) == 0) {
        guarantees.remove(key);
        demands.erase(key);
      } else if (below(6) == 0) {
        guarantees.limit(total = 12 + below(12));
      } else {
        const auto reserved = below(4);  // Four cells of three slots fit.
        demands[key] = {reserved, reserved + below(8)};
        guarantees.set(key, demands[key]);
      }
      guarantees.divide();
      std::uint64_t given = 0;
      bool any_short = false;
      for (const auto& [cell, demand] : demands) {
        REQUIRE(guarantees.of(cell) >= demand.reserved);
        REQUIRE(guarantees.of(cell) <= demand.wanted);
        given += guarantees.of(cell);
        any_short = any_short || guarantees.of(cell) < demand.wanted;
      }
      REQUIRE(given <= total);
      if (any_short) REQUIRE(given == total);
    }
  }
}
