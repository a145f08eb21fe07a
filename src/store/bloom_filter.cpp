#include "src/store/bloom_filter.hpp"

namespace celld::store {
namespace {

constexpr std::size_t bits_per_key = 10;
constexpr std::size_t bits_per_line = 512;
/// For each key. 9 bits of the hash choose each of them in the line.
constexpr int bits_set = 6;

/// The last step of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number
/// Generators", 2014): keys may be hashes whose upper bits are poor.
std::uint64_t mix(std::int64_t key) {
  auto hash = static_cast<std::uint64_t>(key);
  hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ hash >> 27) * 0x94d049bb133111eb;
  return hash ^ hash >> 31;
}

}  // namespace

BloomFilter::BloomFilter(std::size_t keys) : lines_(keys * bits_per_key / bits_per_line + 1) {}

/// The upper bits choose the line, and the lower ones the bits in it.
std::size_t BloomFilter::line_of(std::uint64_t hash) const {
  return (hash >> 32) * lines_.size() >> 32;
}

void BloomFilter::add(std::int64_t key) {
  auto hash = mix(key);
  auto& words = lines_[line_of(hash)].words;
  for (int bit = 0; bit < bits_set; ++bit, hash >>= 9) {
    words[hash >> 6 & 7] |= std::uint64_t{1} << (hash & 63);
  }
}

bool BloomFilter::may_contain(std::int64_t key) const {
  auto hash = mix(key);
  const auto& words = lines_[line_of(hash)].words;
  for (int bit = 0; bit < bits_set; ++bit, hash >>= 9) {
    if ((words[hash >> 6 & 7] >> (hash & 63) & 1) == 0) return false;
  }
  return true;
}

}  // namespace celld::store
