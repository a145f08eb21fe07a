// A Bloom filter: a set that may claim to contain a key that it does not, but never misses one that
// it does contain (B. Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970).
// All bits of a key are in one line of the processor's cache (F. Putze, P. Sanders, J. Singler,
// "Cache-, Hash- and Space-Efficient Bloom Filters", 2007).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace celld::store {

class BloomFilter {
 public:
  /// With up to `keys` keys, it claims to contain 1 to 2 of 100 keys that were never added.
  explicit BloomFilter(std::size_t keys);

  void add(std::int64_t key);
  bool may_contain(std::int64_t key) const;

 private:
  static constexpr std::size_t line_bytes = 64;
  struct alignas(line_bytes) Line {
    std::array<std::uint64_t, line_bytes / sizeof(std::uint64_t)> words{};
  };

  std::size_t line_of(std::uint64_t hash) const;

  std::vector<Line> lines_;
};

}  // namespace celld::store
