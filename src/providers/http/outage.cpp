#include "src/providers/http/outage.hpp"

#include <algorithm>
#include <chrono>

namespace celld::providers {

using cells::milliseconds;
using cells::SteadyTime;
using Kind = cells::CallOutcome::Kind;

void Outages::call_ended(const cells::CallOutcome& outcome, SteadyTime now) {
  switch (outcome.kind) {
    case Kind::succeeded:
    case Kind::rejected:
    case Kind::pending:
      return call_succeeded(now);
    case Kind::aborted:
    case Kind::unable:
      return;
    case Kind::retryable:
    case Kind::throttled:
    case Kind::unauthorized:
    case Kind::unknown:
      break;
  }
  const std::lock_guard lock(mutex_);
  const bool is_new = !began_ || (ended_ && std::max(*ended_, paused_until_) < now);
  if (is_new) began_ = now;
  ended_.reset();
  if (outcome.pauses_service && outcome.retry_after)
    paused_until_ = std::max(paused_until_, now + *outcome.retry_after);
}

void Outages::call_succeeded(SteadyTime now) {
  const std::lock_guard lock(mutex_);
  if (began_ && !ended_) ended_ = now;
}

milliseconds Outages::callable_within(SteadyTime from, SteadyTime to) const {
  const std::lock_guard lock(mutex_);
  const auto length = [](SteadyTime begin, SteadyTime end) {
    return std::max(end - begin, SteadyTime::duration{0});
  };
  from = std::max(from, start_);
  auto callable = length(from, to);
  if (began_) {
    const auto end = std::min(to, std::max(ended_.value_or(to), paused_until_));
    callable -= length(std::max(from, *began_), end);
  }
  return std::chrono::duration_cast<milliseconds>(std::max(callable, SteadyTime::duration{0}));
}

}  // namespace celld::providers
