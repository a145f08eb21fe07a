#include "cells/model/submission_rates.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace cells {
namespace {

/// Beyond this, promises begin anew: clients that never come back must not push later ones back
/// without end.
constexpr microseconds promised_max = std::chrono::hours{1};

}  // namespace

void SubmissionRates::limit(const RateQuota& cell, const RateQuota& customer) {
  change(cell_, cell);
  if (customer == customer_quota_) return;
  customer_quota_ = customer;
  if (customer.per_s <= 0) customers_.clear();
  for (auto& [name, limited] : customers_) change(limited, customer);
}

void SubmissionRates::change(Limited& limited, const RateQuota& quota) {
  if (quota.per_s <= 0) {
    limited = {};
  } else if (limited.limit) {
    limited.limit->change(quota.per_s, quota.burst_in_force());
  } else {
    limited.limit.emplace(quota.per_s, quota.burst_in_force());
  }
}

std::optional<SubmissionRates::TooFast> SubmissionRates::take(const std::string& customer,
                                                              SteadyTime now, bool asks_again) {
  if (const auto wait = wait_of(cell_, now, asks_again)) return TooFast{false, *wait};
  if (customer_quota_.per_s > 0) {
    forget_idle(now);
    Limited& limited = customers_[customer];
    if (!limited.limit) change(limited, customer_quota_);
    if (const auto wait = wait_of(limited, now, asks_again)) return TooFast{true, *wait};
    limited.limit->take(1, now);
  }
  if (cell_.limit) cell_.limit->take(1, now);
  return std::nullopt;
}

/// How long the submission has to wait; none if it need not.
std::optional<microseconds> SubmissionRates::wait_of(Limited& limited, SteadyTime now,
                                                     bool asks_again) {
  if (!limited.limit || limited.limit->available(now) > 0) return std::nullopt;
  const SteadyTime next = limited.limit->next(now);
  if (asks_again) return next - now;
  if (limited.promised < next || limited.promised - now > promised_max) limited.promised = next;
  const microseconds wait = limited.promised - now;
  limited.promised += limited.limit->interval();
  return wait;
}

void SubmissionRates::give_back(const std::string& customer) {
  if (cell_.limit) cell_.limit->give_back();
  const auto found = customers_.find(customer);
  if (found != customers_.end() && found->second.limit) found->second.limit->give_back();
}

/// Costs little for each submission: it looks at all customers once for as many new ones.
void SubmissionRates::forget_idle(SteadyTime now) {
  if (customers_.size() < forget_at_) return;
  std::erase_if(customers_, [now](const auto& each) { return each.second.limit->is_idle(now); });
  if (customers_.size() >= customers_max) customers_.clear();
  forget_at_ = std::clamp<std::size_t>(2 * customers_.size(), 64, customers_max);
}

}  // namespace cells
