#include "cells/model/max_min_shares.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/unit/catch.hpp"

using namespace cells;

namespace {

using Demands = std::map<MaxMinShares::Id, MaxMinShares::Demand>;
/// A slot as a fraction: how many its cell has without it, by its weight.
using Slot = std::pair<std::uint64_t, std::uint64_t>;

bool is_less(const Slot& a, const Slot& b) {
  return a.first * b.second < b.first * a.second;
}

std::uint32_t guaranteed(const MaxMinShares::Demand& demand) {
  return std::min(demand.jobs, demand.guarantee);
}

std::uint32_t extra_max(const MaxMinShares::Demand& demand) {
  const auto most = std::min(demand.jobs, demand.burst);
  return most > demand.guarantee ? most - demand.guarantee : 0;
}

/// The slots beyond the guarantees that max-min fairness hands out: of all that the cells could
/// use, the lowest ones. All of them are listed and sorted.
std::vector<Slot> fair_slots(const Demands& demands, std::uint64_t total) {
  std::uint64_t taken = 0;
  std::vector<Slot> slots;
  for (const auto& [cell, demand] : demands) {
    taken += guaranteed(demand);
    for (std::uint32_t n = 0; n < extra_max(demand); ++n) slots.emplace_back(n, demand.weight);
  }
  std::stable_sort(slots.begin(), slots.end(), is_less);
  slots.resize(std::min<std::uint64_t>(slots.size(), total > taken ? total - taken : 0));
  return slots;
}

/// The slots that were handed out, lowest first.
std::vector<Slot> slots_of(const MaxMinShares& shares, const Demands& demands) {
  std::vector<Slot> slots;
  for (const auto& [cell, demand] : demands) {
    for (std::uint32_t n = 0; n + guaranteed(demand) < shares.share(cell); ++n) {
      slots.emplace_back(n, demand.weight);
    }
  }
  std::stable_sort(slots.begin(), slots.end(), is_less);
  return slots;
}

bool are_equal(const std::vector<Slot>& a, const std::vector<Slot>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Slot& one, const Slot& other) {
    return one.first * other.second == other.first * one.second;
  });
}

}  // namespace

TEST_CASE("what a guarantee leaves idle goes to the cell that asks for more") {
  MaxMinShares shares;
  shares.limit(8);
  shares.set(1, {4, 4, 1, 1});
  shares.set(2, {4, 8, 1, 100});
  CHECK(shares.share(1) == 1);
  CHECK(shares.share(2) == 7);
  shares.set(1, {4, 4, 1, 4});
  CHECK(shares.share(1) == 4);
  CHECK(shares.share(2) == 4);
}

TEST_CASE("idle capacity is shared by weight") {
  MaxMinShares shares;
  shares.limit(13);
  shares.set(1, {1, 100, 1, 100});
  shares.set(2, {1, 100, 2, 100});
  shares.set(3, {1, 100, 2, 100});
  CHECK(shares.share(1) == 1 + 2);
  CHECK(shares.share(2) == 1 + 4);
  CHECK(shares.share(3) == 1 + 4);
}

TEST_CASE("a cell never has more than it asks for, nor more than its burst") {
  MaxMinShares shares;
  shares.limit(100);
  shares.set(1, {2, 10, 1, 5});
  shares.set(2, {2, 10, 1, 50});
  CHECK(shares.share(1) == 5);
  CHECK(shares.share(2) == 10);
}

TEST_CASE("a cell that is removed leaves its share to the others") {
  MaxMinShares shares;
  shares.limit(6);
  shares.set(1, {0, 6, 1, 6});
  shares.set(2, {0, 6, 1, 6});
  shares.take_changed();
  shares.remove(1);
  CHECK(shares.share(1) == 0);
  CHECK(shares.share(2) == 6);
  CHECK(shares.take_changed() == std::vector<MaxMinShares::Id>{1, 2});
  shares.remove(1);
  CHECK(shares.take_changed().empty());
}

TEST_CASE("slots that are as well placed elsewhere do not move") {
  MaxMinShares shares;
  shares.limit(3);
  shares.set(1, {0, 3, 1, 3});
  shares.set(2, {0, 3, 1, 3});
  CHECK(shares.share(1) == 2);
  CHECK(shares.share(2) == 1);
}

TEST_CASE("shares of ten thousand cells change a slot at a time") {
  MaxMinShares shares;
  shares.limit(20'000);
  for (MaxMinShares::Id cell = 1; cell <= 10'000; ++cell) shares.set(cell, {1, 50, 1, 50});
  shares.take_changed();
  shares.set(1, {1, 50, 1, 1});
  CHECK(shares.take_changed().size() == 2);
  shares.set(1, {1, 50, 1, 50});
  CHECK(shares.take_changed().size() <= 3);
}

TEST_CASE("after any changes the shares are those of the reference") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    MaxMinShares shares;
    Demands demands;
    std::uint64_t total = 0;
    for (int step = 0; step < 60; ++step) {
      const MaxMinShares::Id cell = 1 + below(6);
      switch (below(8)) {
        case 0:
          shares.limit(total = below(40));
          break;
        case 1:
          shares.remove(cell);
          demands.erase(cell);
          break;
        default: {
          const auto guarantee = below(6);
          demands[cell] = {guarantee, guarantee + below(12), 1 + below(4), below(20)};
          shares.set(cell, demands[cell]);
        }
      }
      for (const auto& [id, demand] : demands) {
        REQUIRE(shares.share(id) >= guaranteed(demand));
        REQUIRE(shares.share(id) <= guaranteed(demand) + extra_max(demand));
      }
      REQUIRE(are_equal(slots_of(shares, demands), fair_slots(demands, total)));
    }
  }
}
