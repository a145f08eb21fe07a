#include "src/store/bloom_filter.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>

#include "tests/unit/catch.hpp"

using namespace celld::store;

namespace {

constexpr std::int64_t keys = 10'000;

/// How many of as many other keys a filter with `keys` keys finds. Key i is `key(i)`.
template <class Key>
std::int64_t found_by_mistake(const Key& key) {
  BloomFilter filter{keys};
  for (std::int64_t i = 0; i < keys; ++i) filter.add(key(i));
  for (std::int64_t i = 0; i < keys; ++i) REQUIRE(filter.may_contain(key(i)));
  std::int64_t found = 0;
  for (auto i = keys; i < 2 * keys; ++i) found += filter.may_contain(key(i)) ? 1 : 0;
  return found;
}

}  // namespace

TEST_CASE("a Bloom filter has all its keys, and finds few others") {
  std::mt19937_64 random{1};
  CHECK(found_by_mistake([&](std::int64_t i) {
          random.seed(static_cast<std::uint64_t>(i));
          return static_cast<std::int64_t>(random());
        }) < keys / 50);
}

TEST_CASE("keys of a Bloom filter need not be random") {
  CHECK(found_by_mistake([](std::int64_t i) { return i; }) < keys / 50);
  CHECK(found_by_mistake([](std::int64_t i) { return -i * 4096; }) < keys / 50);
}

TEST_CASE("an empty Bloom filter finds nothing") {
  constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
  for (const std::size_t size : {0, 1, 100}) {
    const BloomFilter filter{size};
    for (const std::int64_t key : {-greatest - 1, std::int64_t{-1}, std::int64_t{0}, greatest}) {
      CHECK_FALSE(filter.may_contain(key));
    }
  }
}
