// Growing pauses between attempts that fail.
#pragma once

#include "src/cli/time_words.hpp"

namespace celld::cli {

class Backoff {
 public:
  Backoff(milliseconds first, milliseconds max) : first_(first), max_(max) {}

  /// Doubles from `first` up to `max`, of which each pause takes between a half and the whole, as
  /// `random` (0 to 1) says: workers that failed together return one after another.
  milliseconds next(double random);
  void reset() { doublings_ = 0; }

 private:
  milliseconds first_;
  milliseconds max_;
  int doublings_ = 0;
};

}  // namespace celld::cli
