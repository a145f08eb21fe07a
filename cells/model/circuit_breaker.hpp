// A circuit breaker: calls to a provider that keeps failing are held back for a while.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "cells/model/protection.hpp"
#include "cells/model/time.hpp"

namespace cells {

enum class CircuitState : std::uint8_t {
  closed,     ///< Calls begin.
  open,       ///< No call begins.
  half_open,  ///< One call at a time begins, as a probe.
};
std::string_view to_string(CircuitState state);

/// What the end of a call says about its provider.
enum class CallSign : std::uint8_t {
  alive,     ///< It did what was asked, or refused for a reason that lies in the job.
  failing,   ///< It failed, or did not answer.
  refusing,  ///< It does not accept celld's credentials: no call would succeed.
  nothing,   ///< The call was aborted before its timeout, was answered with 429 and a time to wait,
             ///< or could not be made for a lack of celld's own.
};

/// A closed circuit opens after `failures` failing calls in a row within `window`. The time for
/// which those calls ran does not count: a provider that does not answer fails its calls slowly,
/// and their timeout may be longer than the window. In every state, the circuit opens at once if
/// the provider does not accept celld's credentials (`refusing`). After the time `open` it is
/// half-open: the outcome of one call then closes it or opens it again. (M. Nygard, "Release It!",
/// 2nd edition, chapter 5.) Not thread-safe.
class CircuitBreaker {
 public:
  explicit CircuitBreaker(const CircuitPolicy& policy) : policy_(policy) {}

  /// The failures so far keep counting. An open circuit stays open for as long as the new policy
  /// says, counted from when it opened.
  void change(const CircuitPolicy& policy) { policy_ = policy; }

  CircuitState state(SteadyTime now) const;
  /// When the open circuit becomes, or became, half-open; none: it is closed.
  std::optional<SteadyTime> next_change() const;
  /// When the state last changed because of a call or of reset(); none: never.
  std::optional<WallTime> since() const { return since_; }
  /// Why it is not closed; empty if it is.
  const std::string& why() const { return why_; }

  /// A call that ran for `ran` has ended. `is_probe`: it began while the circuit was half-open.
  /// `what` tells an operator how it failed.
  void ended(CallSign sign, bool is_probe, std::string_view what, microseconds ran, const Now& now);
  /// Closes the circuit, and forgets the failures.
  void reset(WallTime now);

 private:
  struct Failure {
    SteadyTime began{};
    SteadyTime ended{};
  };

  void open(std::string why, const Now& now);
  bool is_closed() const { return !opened_; }
  /// The time between the failures in which none of their calls ran.
  microseconds idle() const;

  CircuitPolicy policy_;
  /// The latest in a row, by their ends; at most `policy_.failures`.
  std::deque<Failure> failures_;
  std::optional<SteadyTime> opened_;  ///< When it last opened; none: it is closed.
  std::optional<WallTime> since_;
  std::string why_;
};

}  // namespace cells
