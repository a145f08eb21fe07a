// A Bloom filter: a set of keys that may find keys it does not have, but never misses one that it
// has (B. Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970). All bits of a
// key are in one line of the processor's cache (F. Putze, P. Sanders, J. Singler, "Cache-, Hash-
// and Space-Efficient Bloom Filters", 2007).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace celld::store {

class BloomFilter {
 public:
  /// For so many keys, at 10 bits each: then it finds 1 to 2 of 100 keys that it does not have.
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
