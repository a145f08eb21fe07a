#include "cells/model/submission_rates.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace cells {
namespace {

constexpr microseconds wait_max = std::chrono::hours{1};
/// The most refused clients that a wait allows for, so that a client that retries without pause
/// cannot put off the others without end.
constexpr std::int64_t turned_away_max = 1000;

}  // namespace

void SubmissionRates::limit(const RateQuota& cell, const RateQuota& customer, SteadyTime now) {
  change(cell_, cell, now);
  if (customer == customer_quota_) return;
  customer_quota_ = customer;
  if (customer.per_s <= 0) customers_.clear();
  for (auto& [name, limited] : customers_) change(limited, customer, now);
}

void SubmissionRates::change(Limited& limited, const RateQuota& quota, SteadyTime now) {
  if (quota.per_s <= 0) {
    limited = {};
  } else if (limited.limit) {
    limited.limit->change(quota.per_s, quota.burst_in_force(), now);
    limited.with_reserved->change(quota.per_s, quota.burst_in_force(), now);
  } else {
    limited.limit.emplace(quota.per_s, quota.burst_in_force());
    limited.with_reserved = limited.limit;
  }
}

std::optional<SubmissionRates::TooFast> SubmissionRates::reserve(const std::string& customer,
                                                                 SteadyTime now, bool asks_again) {
  if (const auto wait = wait_of(cell_, now, asks_again)) return TooFast{false, *wait};
  if (customer_quota_.per_s > 0) {
    forget_idle(now);
    Limited& limited = customers_[customer];
    if (!limited.limit) change(limited, customer_quota_, now);
    if (const auto wait = wait_of(limited, now, asks_again)) return TooFast{true, *wait};
    count_reserved(limited, now);
  }
  count_reserved(cell_, now);
  return std::nullopt;
}

void SubmissionRates::count_reserved(Limited& limited, SteadyTime now) {
  if (limited.limit) {
    limited.reserved.insert(now);
    limited.with_reserved->take(1, now);
  }
  limited.turned_away = std::max<std::int64_t>(limited.turned_away - 1, 0);
}

/// How long the submission has to wait; none if it need not.
std::optional<microseconds> SubmissionRates::wait_of(Limited& limited, SteadyTime now,
                                                     bool asks_again) {
  if (!limited.limit) return std::nullopt;
  const RateLimit& limit = *limited.with_reserved;
  if (limit.available(now) > 0) return std::nullopt;
  const SteadyTime next = limit.next(now);
  if (asks_again) return next - now;
  if (limited.lapse < now) limited.turned_away = 0;
  const microseconds wait =
      std::min<microseconds>(next - now + limit.interval() * limited.turned_away, wait_max);
  limited.turned_away = std::min(limited.turned_away + 1, turned_away_max);
  limited.lapse = std::max(limited.lapse, now + wait + limit.interval());
  return wait;
}

void SubmissionRates::confirm(const std::string& customer, SteadyTime reserved_at) {
  confirm(cell_, reserved_at);
  if (Limited* limited = find(customer)) confirm(*limited, reserved_at);
}

/// A limit that was set after the reservation, or a customer that was forgotten, does not know it.
void SubmissionRates::confirm(Limited& limited, SteadyTime reserved_at) {
  const auto found = limited.reserved.find(reserved_at);
  if (found == limited.reserved.end()) return;
  limited.reserved.erase(found);
  limited.limit->take(1, reserved_at);
}

void SubmissionRates::release(const std::string& customer, SteadyTime reserved_at) {
  release(cell_, reserved_at);
  if (Limited* limited = find(customer)) release(*limited, reserved_at);
}

void SubmissionRates::release(Limited& limited, SteadyTime reserved_at) {
  const auto found = limited.reserved.find(reserved_at);
  if (found == limited.reserved.end()) return;
  limited.reserved.erase(found);
  limited.with_reserved = limited.limit;
  for (const auto at : limited.reserved) limited.with_reserved->take(1, at);
}

SubmissionRates::Limited* SubmissionRates::find(const std::string& customer) {
  const auto found = customers_.find(customer);
  return found == customers_.end() ? nullptr : &found->second;
}

bool SubmissionRates::is_idle(SteadyTime now) const {
  const auto idle = [now](const Limited& each) { return !each.limit || each.limit->is_idle(now); };
  return idle(cell_) && std::all_of(customers_.begin(), customers_.end(),
                                    [&](const auto& each) { return idle(each.second); });
}

/// Costs little per submission: looks at all customers only once their number has doubled.
void SubmissionRates::forget_idle(SteadyTime now) {
  if (customers_.size() < forget_at_) return;
  std::erase_if(customers_, [now](const auto& each) {
    return each.second.reserved.empty() && each.second.limit->is_idle(now);
  });
  if (customers_.size() >= customers_max) customers_.clear();
  forget_at_ = std::clamp<std::size_t>(2 * customers_.size(), 64, customers_max);
}

}  // namespace cells
