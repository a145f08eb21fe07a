// How long to pause between the batches of a file that has more jobs than a queue has room for.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace celld::cli {

/// Doubles the pause while longer pauses let the queue accept correspondingly more lines, so that a
/// large file takes few batches. A small queue would run empty during a longer pause: when the
/// queue accepts no more lines than before, the pause is halved, and no longer grows. When celld
/// asks for a shorter pause than ever before, all of this begins again from that pause: just after
/// a start, celld does not know yet how soon a full queue has room.
class BatchPace {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// The pause before the next batch, after one that ended for lack of room. `accepted`: the lines
  /// that the queue took. `asked`: the pause that celld asks for, which is never shortened.
  milliseconds next(std::uint64_t accepted, milliseconds asked) {
    if (asked > milliseconds{0} && asked < asked_least_) {
      asked_least_ = asked;
      pause_ = std::min(asked, pause_max);
      rate_ = 0;
      grows_ = true;
    } else if (grows_) {
      const auto waited = std::max(waited_, milliseconds{1});
      const double rate = static_cast<double>(accepted) / static_cast<double>(waited.count());
      grows_ = rate >= kept_share * rate_;
      pause_ = grows_ ? std::min(pause_ * 2, pause_max) : pause_ / 2;
      rate_ = rate;
    }
    waited_ = std::max(asked, pause_);
    return waited_;
  }

 private:
  static constexpr milliseconds pause_max{30'000};
  static constexpr double kept_share = 0.75;

  milliseconds asked_least_ = milliseconds::max();  ///< By celld; none so far.
  milliseconds pause_{0};                           ///< Without regard to what celld asks for.
  milliseconds waited_{0};                          ///< What the last call returned.
  double rate_ = 0;                                 ///< Lines per millisecond of the last pause.
  bool grows_ = true;
};

}  // namespace celld::cli
