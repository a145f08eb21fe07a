// The pace of a batch whose lines come too fast for a rate quota. Pure: time is an argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "cells/model/submission.hpp"
#include "src/http/api/problem.hpp"

namespace celld::api {

/// A line that came too fast, and is submitted again.
struct DelayedLine {
  std::uint64_t number = 0;  ///< In the tally.
  std::shared_ptr<cells::JobRequest> job;
  std::shared_ptr<const Problem> refused;  ///< The rejection if its key is new; null: none.
};

/// Holds the lines of one batch that the engine returned, until the quota has room for them. While
/// it holds any, no new line may be submitted, so that the jobs keep the order of the batch.
///
/// After the engine has returned a line, one line is tried alone. Each answer that is not a refusal
/// doubles the number of lines that may be in flight, until the engine returns another line. The
/// batch thus approaches the rate without knowing it.
///
/// Each delayed line was in flight before, so the caller's limit of lines in flight also bounds
/// what one batch holds; the caller bounds what all batches hold together. For one thread; it
/// shares only the gate with the engine.
class BatchPacer {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// The longest that a line waits before it is tried again: the quota may be raised meanwhile.
  static constexpr std::chrono::seconds delay_max{2};

  /// At most `in_flight_max` lines are in flight while others are delayed.
  explicit BatchPacer(std::size_t in_flight_max = 64) : in_flight_max_(in_flight_max) {}

  /// A line of the batch is in flight, delayed before or not. Exactly one of `answered` and `delay`
  /// must follow.
  void submitted() { ++in_flight_; }
  /// A line is no longer in flight. `is_refused`: it ends the batch, or its batch has ended.
  void answered(bool is_refused);
  /// The engine returned a line that was in flight. `why`: the refusal; none: the line was returned
  /// because of an earlier one, whose refusal counts.
  void delay(DelayedLine line, const std::optional<cells::Refusal>& why, Time now);

  /// Some lines are delayed.
  bool is_delaying() const { return !delayed_.empty(); }
  /// The parameters of the delayed lines.
  std::size_t delayed_bytes() const { return delayed_bytes_; }
  /// Whether delayed lines may be submitted now. Opens a paused gate, but only when no line is in
  /// flight: an open gate would let such a line overtake the delayed ones.
  bool resume(cells::BatchGate& gate, Time now);
  /// After `resume`: removes and returns the first delayed line, for which `submitted` must follow.
  /// None: no line is delayed, or enough are in flight.
  std::optional<DelayedLine> take_next();
  /// When to call `resume`. None: no line is delayed, or the answer to a line in flight comes
  /// first.
  std::optional<Time> resumes_at() const;

  /// Removes and returns all delayed lines, in the order of the batch. The caller refuses them.
  std::deque<DelayedLine> take_all();
  /// Why lines were last delayed. None: no line ever was.
  const std::optional<cells::Refusal>& last_refusal() const { return last_refusal_; }

 private:
  std::size_t in_flight_max_;
  std::deque<DelayedLine> delayed_;  ///< In ascending order of their numbers.
  std::size_t delayed_bytes_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t pace_ = 1;  ///< The most lines in flight while some are delayed.
  Time resumes_at_{};
  std::optional<cells::Refusal> last_refusal_;
};

}  // namespace celld::api
