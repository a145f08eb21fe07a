#include "src/cli/worker/backoff.hpp"

#include <algorithm>

namespace celld::cli {

milliseconds Backoff::next(double random) {
  constexpr int doublings_max = 20;
  const milliseconds whole = std::min<milliseconds>(first_ * (1LL << doublings_), max_);
  doublings_ = std::min(doublings_ + 1, doublings_max);
  const double share = 0.5 + 0.5 * random;
  return milliseconds(static_cast<milliseconds::rep>(static_cast<double>(whole.count()) * share));
}

}  // namespace celld::cli
