// Growing pauses between attempts that fail.
#pragma once

#include "src/cli/time_words.hpp"

namespace celld::cli {

class Backoff {
 public:
  Backoff(milliseconds first, milliseconds max) : first_(first), max_(max) {}

  /// A bound doubles with each call, from `first` up to `max`; `random` (0 to 1) picks a pause
  /// between half the bound and the whole, so that workers that failed together do not all return
  /// at once.
  milliseconds next(double random);
  void reset() { doublings_ = 0; }

 private:
  milliseconds first_;
  milliseconds max_;
  int doublings_ = 0;
};

}  // namespace celld::cli
