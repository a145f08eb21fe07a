#include "cells/model/retry.hpp"

#include <algorithm>

namespace cells {

milliseconds retry_delay(const RetryPolicy& policy, std::uint32_t attempts, double random,
                         std::optional<milliseconds> retry_after) {
  milliseconds ceiling = std::min(policy.backoff, policy.backoff_max);
  for (std::uint32_t i = 1; i < attempts && ceiling < policy.backoff_max; ++i) {
    ceiling = std::min(ceiling * 2, policy.backoff_max);
  }
  const milliseconds jittered{
      static_cast<milliseconds::rep>(random * static_cast<double>(ceiling.count() + 1))};
  const milliseconds asked =
      std::clamp(retry_after.value_or(milliseconds{0}), milliseconds{0}, policy.backoff_max * 10);
  return std::max(jittered, asked);
}

std::uint32_t attempts_within(const RetryPolicy& policy, milliseconds since_first) {
  std::uint32_t attempts = 1;
  for (auto ceiling = policy.backoff;
       ceiling > milliseconds{0} && ceiling < policy.backoff_max && ceiling <= since_first;
       ceiling *= 2) {
    ++attempts;
  }
  return attempts;
}

}  // namespace cells
