#include "cells/model/dispatch_queue.hpp"

#include <algorithm>

namespace cells {
namespace {

constexpr std::int64_t estimate_us_min = 100;
constexpr std::int64_t estimate_us_max = 3'600'000'000;

}  // namespace

void DispatchQueue::expect_more() {
  if (!sweeping_) {
    sweeping_ = true;
    sweep_after_.clear();
  }
  sweep_missed_ = true;  // The current sweep may already have passed these jobs.
}

void DispatchQueue::offer(JobPtr job) {
  const std::string& name = job->spec->customer;
  const auto found = customers_.find(name);
  const bool known = found != customers_.end() && !found->second.evicted;
  if (!known && sweeping_ && name > sweep_after_) return;  // The sweep will reach it.
  if (!known && (full() || (sweeping_ && sweep_missed_))) {
    expect_more();
    return;
  }
  Customer& customer = customers_[name];
  customer.evicted = false;
  if (!customer.complete && !customer.jobs.empty()) {
    const Rank rank{-job->spec->priority, job->place};
    if (rank > customer.jobs.rbegin()->first) return;  // Jobs outside the window may come first.
  }
  if (!customer.complete && customer.jobs.empty()) {
    request_fetch(name, customer);
    return;
  }
  if (!add(customer, std::move(job))) return;
  if (customer.jobs.size() > jobs_per_customer() || (bytes_ > limits_.bytes_max && jobs_ > 1)) {
    drop_last(customer);
  }
  if (customer.jobs.empty()) {  // It did not fit.
    request_fetch(name, customer);
  } else if (!customer.in_ring) {
    customer.in_ring = true;
    ring_.push_back(name);
  }
}

JobPtr DispatchQueue::take() {
  std::size_t passed = 0;
  while (!ring_.empty()) {
    const std::string name = ring_.front();
    Customer& customer = customers_.at(name);
    if (!customer.in_turn) {
      customer.deficit_us += estimate_us_;
      customer.in_turn = true;
    }
    if (customer.deficit_us > 0) {
      const auto first = customer.jobs.begin();
      JobPtr job = std::move(first->second);
      customer.jobs.erase(first);
      jobs_ -= 1;
      bytes_ -= approximate_bytes(*job);
      customer.deficit_us -= estimate_us_;
      customer.charged_us.push_back(estimate_us_);
      after_take(name, customer);
      return job;
    }
    customer.in_turn = false;
    ring_.pop_front();
    ring_.push_back(name);
    if (++passed >= ring_.size()) {
      grant_rounds();
      passed = 0;
    }
  }
  return nullptr;
}

/// The turn lasts while there is credit. Then the customer goes to the back of the ring, or leaves
/// the window if others wait outside.
void DispatchQueue::after_take(const std::string& name, Customer& customer) {
  const bool turn_over = customer.deficit_us <= 0 || customer.jobs.empty();
  if (turn_over) {
    customer.in_turn = false;
    ring_.pop_front();
    if (customer.jobs.empty()) {
      customer.in_ring = false;
      customer.deficit_us = std::min<std::int64_t>(customer.deficit_us, 0);
    } else {
      ring_.push_back(name);
    }
    const bool ran_empty = customer.jobs.empty() && !customer.complete;
    if (sweeping_ && (ran_empty || (full() && customer.in_ring))) {
      evict(name, customer);
      return;
    }
  }
  if (!customer.complete && customer.jobs.size() <= jobs_per_customer() / 4)
    request_fetch(name, customer);
}

void DispatchQueue::remove(const Job& job) {
  const std::string& name = job.spec->customer;
  const auto found = customers_.find(name);
  if (found == customers_.end()) return;
  Customer& customer = found->second;
  const auto place = customer.jobs.find({-job.spec->priority, job.place});
  if (place == customer.jobs.end() || place->second->id != job.id) return;
  jobs_ -= 1;
  bytes_ -= approximate_bytes(*place->second);
  customer.jobs.erase(place);
  if (!customer.jobs.empty()) return;
  ring_.erase(std::find(ring_.begin(), ring_.end(), name));
  customer.in_ring = false;
  customer.in_turn = false;
  if (!customer.complete) request_fetch(name, customer);
  leave_if_idle(name);
}

void DispatchQueue::remove_all(const std::string& name, const std::string& product) {
  const auto found = customers_.find(name);
  if (found == customers_.end()) return;
  std::vector<JobPtr> leaving;
  for (const auto& [rank, job] : found->second.jobs) {
    if (job->spec->product == product) leaving.push_back(job);
  }
  for (const auto& job : leaving) remove(*job);
}

void DispatchQueue::ended(const std::string& name, microseconds service_time) {
  const auto found = customers_.find(name);
  if (found == customers_.end() || found->second.charged_us.empty()) return;
  Customer& customer = found->second;
  const std::int64_t actual = service_time.count();
  customer.deficit_us -= actual - customer.charged_us.front();
  customer.charged_us.pop_front();
  // A refund earned while a customer is alone must not take turns from customers that come later.
  if (ring_.size() <= 1) customer.deficit_us = std::min(customer.deficit_us, estimate_us_);
  if (actual > 0) {
    estimate_us_ = std::clamp((estimate_us_ * 7 + actual) / 8, estimate_us_min, estimate_us_max);
  }
  leave_if_idle(name);
}

std::optional<DispatchQueue::Fetch> DispatchQueue::next_fetch() {
  if (fetch_) return std::nullopt;
  const std::size_t bytes_free = bytes_ < limits_.bytes_max ? limits_.bytes_max - bytes_ : 1;
  while (!to_fetch_.empty()) {
    const std::string name = to_fetch_.front();
    to_fetch_.pop_front();
    const auto found = customers_.find(name);
    if (found == customers_.end() || !found->second.wants_fetch) continue;
    found->second.wants_fetch = false;
    if (bytes_ >= limits_.bytes_max) {  // No room: the sweep brings it back.
      evict(name, found->second);
      continue;
    }
    fetch_ = Fetch{name, false, 1, jobs_per_customer(), bytes_free};
    return fetch_;
  }
  if (sweeping_ && !full()) {
    const std::size_t room = std::max<std::size_t>(1, limits_.customers_max - ring_.size());
    fetch_ = Fetch{sweep_after_, !sweep_after_.empty(), room, jobs_per_customer(), bytes_free};
    if (sweep_after_.empty()) sweep_missed_ = false;
    return fetch_;
  }
  return std::nullopt;
}

void DispatchQueue::fetched(std::vector<Fetched> customers, bool complete,
                            const std::function<bool(JobId)>& in_hand) {
  if (!fetch_) return;
  const Fetch asked = *fetch_;
  fetch_.reset();
  const bool sweep = is_sweep(asked);
  if (!sweep && (customers.empty() || customers.front().customer != asked.customer)) {
    customers.clear();
    customers.push_back({asked.customer, {}, true});  // The customer has no job left.
  }
  for (auto& [name, jobs, all] : customers) {
    Customer& customer = customers_[name];
    customer.evicted = false;
    for (auto& job : jobs) {
      if (!in_hand(job->id)) add(customer, std::move(job));
    }
    customer.complete = all;
    if (!customer.jobs.empty() && !customer.in_ring) {
      customer.in_ring = true;
      ring_.push_back(name);
    }
    if (!customer.complete && customer.jobs.empty()) request_fetch(name, customer);
    leave_if_idle(name);
  }
  if (!sweep) return;
  if (!customers.empty()) sweep_after_ = customers.back().customer;
  if (complete) {
    sweep_after_.clear();
    if (!sweep_missed_) sweeping_ = false;
  }
}

void DispatchQueue::fetch_failed() {
  if (!fetch_) return;
  const Fetch asked = *fetch_;
  fetch_.reset();
  const auto found = customers_.find(asked.customer);
  if (!is_sweep(asked) && found != customers_.end()) request_fetch(asked.customer, found->second);
}

/// A fetch for one customer never has an empty name, and never begins after a name.
bool DispatchQueue::is_sweep(const Fetch& asked) {
  return asked.after || asked.customer.empty();
}

bool DispatchQueue::full() const {
  return ring_.size() >= limits_.customers_max || jobs_ >= limits_.jobs_max ||
         bytes_ >= limits_.bytes_max;
}

std::size_t DispatchQueue::jobs_per_customer() const {
  return std::max<std::size_t>(4, limits_.jobs_max / std::max<std::size_t>(1, ring_.size() + 1));
}

bool DispatchQueue::add(Customer& customer, JobPtr job) {
  const std::size_t bytes = approximate_bytes(*job);
  const Rank rank{-job->spec->priority, job->place};
  if (!customer.jobs.emplace(rank, std::move(job)).second) return false;
  jobs_ += 1;
  bytes_ += bytes;
  return true;
}

void DispatchQueue::drop_last(Customer& customer) {
  const auto last = std::prev(customer.jobs.end());
  jobs_ -= 1;
  bytes_ -= approximate_bytes(*last->second);
  customer.jobs.erase(last);
  customer.complete = false;
}

/// Drops a customer's jobs from the window; they stay in the store.
void DispatchQueue::evict(const std::string& name, Customer& customer) {
  while (!customer.jobs.empty()) drop_last(customer);
  if (customer.in_ring) ring_.erase(std::find(ring_.begin(), ring_.end(), name));
  customer.in_ring = false;
  customer.in_turn = false;
  customer.evicted = true;
  customer.wants_fetch = false;
  customer.complete = true;
  expect_more();
  leave_if_idle(name);
}

void DispatchQueue::request_fetch(const std::string& name, Customer& customer) {
  if (customer.wants_fetch) return;
  customer.wants_fetch = true;
  to_fetch_.push_back(name);
}

/// Forgets a customer that has no job in the window or in service, and any debt that it has.
void DispatchQueue::leave_if_idle(const std::string& name) {
  const auto found = customers_.find(name);
  if (found == customers_.end()) return;
  const Customer& customer = found->second;
  if (customer.jobs.empty() && customer.complete && customer.charged_us.empty() &&
      !customer.wants_fetch) {
    customers_.erase(found);
  }
}

/// Called when every customer in the ring is in debt: grants, at once, as many rounds as the least
/// indebted one needs.
void DispatchQueue::grant_rounds() {
  std::int64_t rounds = estimate_us_max;
  for (const auto& name : ring_) {
    rounds = std::min(rounds, -customers_.at(name).deficit_us / estimate_us_);
  }
  for (const auto& name : ring_) customers_.at(name).deficit_us += rounds * estimate_us_;
}

}  // namespace cells
