// The random source of a run.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace torture {

/// The same seed gives the same run.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// Uniform in [0, below).
  std::uint64_t below(std::uint64_t below) { return engine_() % below; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace torture
