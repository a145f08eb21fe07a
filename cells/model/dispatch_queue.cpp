#include "cells/model/dispatch_queue.hpp"

#include <algorithm>
#include <utility>

#include "cells/model/priority.hpp"

namespace cells {

// --- Terms ---------------------------------------------------------------------------------------

void DispatchQueue::set_terms(const DispatchTerms& terms) {
  const auto before = std::exchange(terms_, terms);
  if (before == terms_) return;
  for (auto& [name, customer] : customers_) {
    turns_.set_weight(customer, terms_.weights.weight_of(name));
  }
  if (before.priority_step == terms_.priority_step) return;
  fetch_outdated_ = fetch_.has_value();
  for (auto it = customers_.begin(); it != customers_.end();) rank_again((it++)->second);
}

/// Other jobs of the customer may come first now.
void DispatchQueue::rank_again(Customer& customer) {
  if (customer.jobs.empty()) return;
  if (!customer.complete) return evict(customer);
  for (auto& [rank, job] : std::exchange(customer.jobs, {})) {
    const auto again = rank_of(*job);
    customer.jobs.emplace(again, std::move(job));
  }
}

DispatchQueue::Rank DispatchQueue::rank_of(const Job& job) const {
  return {priority_rank(job.spec->priority, job.place, terms_.priority_step), job.place};
}

/// The sweep passes the customer over, so its jobs are fetched when it is unblocked.
void DispatchQueue::block(const std::string& name) {
  if (!blocked_.insert(name).second) return;
  if (!find(name) && !sweeping_) return;
  Customer& customer = this->customer(name);
  const bool may_have_jobs =
      customer.evicted || !customer.complete || !customer.jobs.empty() || sweeping_;
  while (!customer.jobs.empty()) drop_last(customer);
  turns_.leave(customer);
  customer.evicted = may_have_jobs;
  customer.complete = true;
  customer.wants_fetch = customer.sought = false;
  leave_if_idle(customer);
}

void DispatchQueue::unblock(const std::string& name) {
  if (blocked_.erase(name) == 0) return;
  Customer* customer = find(name);
  if (!customer) return;
  if (customer->evicted && !sweeping_) return seek(name);
  // Others wait outside the window, too: the customer comes back in its turn.
  if (customer->evicted) begin_sweep();
  leave_if_idle(*customer);
}

// --- Jobs come -----------------------------------------------------------------------------------

void DispatchQueue::expect_more() {
  begin_sweep();
  for (const auto& name : blocked_) customer(name);
  doubt_all();
  fetch_missed_ = fetch_.has_value();
}

/// There are customers outside the window that have jobs.
void DispatchQueue::begin_sweep() {
  if (!sweeping_) {
    sweeping_ = true;
    sweep_after_.clear();
  }
  sweep_missed_ = true;  // The current sweep may already have passed these jobs.
}

/// No customer is known any more to have all its jobs in the window, or to have none.
void DispatchQueue::doubt_all() {
  absent_.clear();
  for (auto& [name, customer] : customers_) {
    if (customer.jobs.empty()) {
      customer.evicted = true;
    } else {
      customer.complete = false;
    }
  }
}

void DispatchQueue::seek(const std::string& name) {
  if (is_blocked(name) || !may_hide_jobs(name)) return;
  Customer& customer = this->customer(name);
  customer.evicted = false;
  customer.complete = false;
  customer.sought = true;
  request_fetch(customer);
}

/// Whether the window has no job of this customer, although the store may have one.
bool DispatchQueue::may_hide_jobs(const std::string& name) const {
  const Customer* found = find(name);
  if (!found) return sweeping_ && !absent_.contains(name);
  return found->jobs.empty() && !found->sought && (found->evicted || !found->complete);
}

void DispatchQueue::offer(JobPtr job) {
  const std::string& name = job->spec->customer;
  if (is_blocked(name)) {
    this->customer(name).evicted = true;
    return;
  }
  const Customer* found = find(name);
  const bool known = found && !found->evicted;
  if (!known) absent_.erase(name);
  if (!known && sweeping_ && name > sweep_after_) return;  // The sweep will reach it.
  if (!known && (full() || (sweeping_ && sweep_missed_))) {
    begin_sweep();
    return;
  }
  Customer& customer = this->customer(name);
  customer.evicted = false;
  if (!customer.complete && !customer.jobs.empty()) {
    const Rank rank = rank_of(*job);
    if (rank > customer.jobs.rbegin()->first) return;  // Jobs outside the window may come first.
  }
  if (!customer.complete && customer.jobs.empty()) {
    request_fetch(customer);
    return;
  }
  if (!add(customer, std::move(job))) return;
  if (customer.jobs.size() > jobs_for(customer) || holds_too_much()) {
    drop_last(customer);
  }
  if (customer.jobs.empty()) {  // It did not fit.
    request_fetch(customer);
  } else {
    turns_.join(customer);
  }
}

const std::string* DispatchQueue::next_customer() {
  auto* next = static_cast<Customer*>(turns_.next());
  return next ? &next->name : nullptr;
}

const std::string* DispatchQueue::next_customer(const std::set<std::string>& among) const {
  const auto* next = static_cast<const Customer*>(turns_.next([&](const FairTurns::Party& party) {
    return among.contains(static_cast<const Customer&>(party).name);
  }));
  return next ? &next->name : nullptr;
}

JobPtr DispatchQueue::take() {
  auto* next = static_cast<Customer*>(turns_.next());
  return next ? take_at(*next, next->jobs.begin()) : nullptr;
}

JobPtr DispatchQueue::take_other_than(const std::set<JobId>& passed_over) {
  const auto other_of = [&](const Customer& customer) {
    return std::find_if(customer.jobs.begin(), customer.jobs.end(),
                        [&](const auto& each) { return !passed_over.contains(each.second->id); });
  };
  const auto* next = static_cast<const Customer*>(turns_.next([&](const FairTurns::Party& party) {
    const auto& customer = static_cast<const Customer&>(party);
    return other_of(customer) != customer.jobs.end();
  }));
  if (!next) return take();
  Customer& customer = *find(next->name);
  return take_at(customer, other_of(customer));
}

JobPtr DispatchQueue::take_of(const std::string& name) {
  Customer* found = find(name);
  if (found && !found->jobs.empty()) return take_at(*found, found->jobs.begin());
  seek(name);
  return nullptr;
}

bool DispatchQueue::has(const std::string& name) const {
  const Customer* found = find(name);
  return found && !found->jobs.empty();
}

bool DispatchQueue::seeks(const std::string& name) const {
  const Customer* found = find(name);
  return found && found->sought;
}

bool DispatchQueue::may_bring(const std::string& name) const {
  return !is_blocked(name) && (seeks(name) || may_hide_jobs(name));
}

JobPtr DispatchQueue::take_at(Customer& customer, Jobs::const_iterator place) {
  JobPtr job = place->second;
  customer.jobs.erase(place);
  jobs_ -= 1;
  bytes_.remove(approximate_bytes(*job));
  turns_.charge(customer);
  after_take(customer);
  return job;
}

/// After its turn, a customer leaves the window if others wait outside.
void DispatchQueue::after_take(Customer& customer) {
  const bool turn_over = turns_.has_had_turn(customer);
  if (customer.jobs.empty() && customer.complete) {
    turns_.leave(customer);
  } else if (turn_over && sweeping_ && (customer.jobs.empty() || full())) {
    return evict(customer);
  } else if (customer.jobs.empty()) {
    turns_.suspend(customer);
  }
  if (!customer.complete && customer.jobs.size() <= jobs_for(customer) / 4) {
    request_fetch(customer);
  }
}

void DispatchQueue::left(JobId id) {
  if (fetch_) left_.insert(id);
}

void DispatchQueue::remove(const Job& job) {
  Customer* customer = find(job.spec->customer);
  if (!customer) return;
  const auto place = customer->jobs.find(rank_of(job));
  if (place == customer->jobs.end() || place->second->id != job.id) return;
  jobs_ -= 1;
  bytes_.remove(approximate_bytes(*place->second));
  customer->jobs.erase(place);
  if (!customer->jobs.empty()) return;
  if (!customer->complete) {
    turns_.suspend(*customer);
    request_fetch(*customer);
  }
  leave_if_idle(*customer);
}

void DispatchQueue::remove_all(const std::string& name, const std::string& product) {
  const Customer* customer = find(name);
  if (!customer) return;
  std::vector<JobPtr> leaving;
  for (const auto& [rank, job] : customer->jobs) {
    if (job->spec->product == product) leaving.push_back(job);
  }
  for (const auto& job : leaving) remove(*job);
}

void DispatchQueue::ended(const std::string& name, microseconds service_time) {
  Customer* customer = find(name);
  if (!customer) return;
  turns_.ended(*customer, service_time);
  leave_if_idle(*customer);
}

void DispatchQueue::owe(const std::string& name, microseconds service_time) {
  if (Customer* customer = find(name)) {
    turns_.owe(*customer, service_time);
  } else {
    clocks_.add(name, service_time.count() / terms_.weights.weight_of(name));
  }
}

std::optional<DispatchQueue::Fetch> DispatchQueue::next_fetch() {
  if (fetch_) return std::nullopt;
  const std::size_t held = bytes_.own();
  const std::size_t bytes_free = held < limits_.bytes_max ? limits_.bytes_max - held : 1;
  while (!to_fetch_.empty()) {
    const std::string name = to_fetch_.front();
    to_fetch_.pop_front();
    Customer* customer = find(name);
    if (!customer || !customer->wants_fetch) continue;
    customer->wants_fetch = false;
    if (is_out_of_bytes() && !customer->sought) {  // The sweep brings it back.
      evict(*customer);
      continue;
    }
    fetch_ = Fetch{name, false, 1, jobs_for(*customer), bytes_free};
    expect_bytes();
    return fetch_;
  }
  if (sweeping_ && !full()) {
    const std::size_t most = bytes_.has_its_share() ? limits_.jobs_min : limits_.customers_max;
    const std::size_t room = most > turns_.size() ? most - turns_.size() : 1;
    fetch_ = Fetch{sweep_after_, !sweep_after_.empty(),
                   room,         jobs_per_customer(),
                   bytes_free,   {blocked_.begin(), blocked_.end()}};
    if (sweep_after_.empty()) sweep_missed_ = false;
    expect_bytes();
    return fetch_;
  }
  return std::nullopt;
}

/// Counts the jobs that are on their way, because all windows may fetch at once, for example after
/// a start.
void DispatchQueue::expect_bytes() {
  constexpr std::size_t usual_job_bytes = 1536;
  const std::size_t jobs = std::min(fetch_->customers_max * fetch_->jobs_max, limits_.jobs_max);
  bytes_.expect(std::min(fetch_->bytes_max, jobs * usual_job_bytes));
}

void DispatchQueue::fetched(std::vector<Fetched> customers, bool complete,
                            const std::function<bool(JobId)>& in_hand) {
  if (!fetch_) return;
  if (fetch_outdated_) return fetch_failed();
  const Fetch asked = *fetch_;
  fetch_.reset();
  bytes_.arrived();
  const auto left = std::exchange(left_, {});
  const bool sweep = is_sweep(asked);
  if (!sweep && (customers.empty() || customers.front().customer != asked.customer)) {
    customers.clear();
    customers.push_back({asked.customer, {}, true});  // The customer has no job left.
  }
  for (auto& [name, jobs, all] : customers) {
    Customer& customer = this->customer(name);
    if (is_blocked(name)) {  // Since the fetch was sent.
      customer.evicted = customer.evicted || !jobs.empty() || !all;
      leave_if_idle(customer);
      continue;
    }
    customer.evicted = false;
    for (auto& job : jobs) {
      if (!in_hand(job->id) && !left.contains(job->id)) add(customer, std::move(job));
    }
    customer.complete = all;
    if (!customer.jobs.empty()) turns_.join(customer);
    if (!customer.complete && customer.jobs.empty()) request_fetch(customer);
    if (customer.complete || !customer.jobs.empty()) found_out(customer);
    leave_if_idle(customer);
  }
  if (sweep) swept(customers, complete);
  if (std::exchange(fetch_missed_, false)) doubt_all();
}

/// Ends the search for jobs of this customer.
void DispatchQueue::found_out(Customer& customer) {
  if (std::exchange(customer.sought, false) && customer.jobs.empty() && sweeping_) {
    absent_.insert(customer.name);
  }
}

/// The sweep has brought these customers; after them, it is complete or continues.
void DispatchQueue::swept(const std::vector<Fetched>& customers, bool complete) {
  if (!customers.empty()) sweep_after_ = customers.back().customer;
  if (!complete) return;
  sweep_after_.clear();
  if (sweep_missed_) return;
  sweeping_ = false;
  absent_.clear();
}

void DispatchQueue::fetch_failed() {
  if (!fetch_) return;
  const Fetch asked = *fetch_;
  fetch_.reset();
  bytes_.arrived();
  left_.clear();
  fetch_missed_ = fetch_outdated_ = false;
  Customer* customer = find(asked.customer);
  if (!is_sweep(asked) && customer && !is_blocked(asked.customer)) request_fetch(*customer);
}

/// A fetch for one customer never has an empty name, and never begins after a name.
bool DispatchQueue::is_sweep(const Fetch& asked) {
  return asked.after || asked.customer.empty();
}

bool DispatchQueue::full() const {
  return turns_.size() >= limits_.customers_max || jobs_ >= limits_.jobs_max || is_out_of_bytes();
}

bool DispatchQueue::is_out_of_bytes() const {
  return bytes_.own() >= limits_.bytes_max || (bytes_.has_its_share() && jobs_ >= limits_.jobs_min);
}

/// One job may be larger than the window.
bool DispatchQueue::holds_too_much() const {
  return (bytes_.own() > limits_.bytes_max && jobs_ > 1) ||
         (bytes_.has_its_share() && jobs_ > limits_.jobs_min);
}

/// A customer's share of the window. At most as many jobs as the customer may run at once: when
/// that many run, the customer is blocked, and its other jobs have to leave the window.
std::size_t DispatchQueue::jobs_per_customer(std::uint64_t weight) const {
  const auto all = turns_.weight() + weight;
  const auto share = bytes_.has_its_share()
                         ? std::max<std::size_t>(1, limits_.jobs_min)
                         : std::max<std::size_t>(4, limits_.jobs_max * weight / all);
  return terms_.running_max == 0 ? share : std::min<std::size_t>(share, terms_.running_max);
}

std::size_t DispatchQueue::jobs_for(const Customer& customer) const {
  return jobs_per_customer(terms_.weights.weight_of(customer.name));
}

bool DispatchQueue::add(Customer& customer, JobPtr job) {
  const std::size_t bytes = approximate_bytes(*job);
  const Rank rank = rank_of(*job);
  if (!customer.jobs.emplace(rank, std::move(job)).second) return false;
  jobs_ += 1;
  bytes_.add(bytes);
  return true;
}

void DispatchQueue::drop_last(Customer& customer) {
  const auto last = std::prev(customer.jobs.end());
  jobs_ -= 1;
  bytes_.remove(approximate_bytes(*last->second));
  customer.jobs.erase(last);
  customer.complete = false;
}

/// Drops a customer's jobs from the window; they stay in the store.
void DispatchQueue::evict(Customer& customer) {
  while (!customer.jobs.empty()) drop_last(customer);
  turns_.leave(customer);
  customer.evicted = true;
  customer.wants_fetch = false;
  customer.complete = true;
  absent_.erase(customer.name);
  begin_sweep();
  leave_if_idle(customer);
}

void DispatchQueue::request_fetch(Customer& customer) {
  if (customer.wants_fetch) return;
  customer.wants_fetch = true;
  to_fetch_.push_back(customer.name);
}

/// Forgets a customer that has no job in the window or in service, apart from its clock. A blocked
/// customer that may have jobs in the store is kept, because no sweep would bring it back.
void DispatchQueue::leave_if_idle(Customer& customer) {
  if (!customer.jobs.empty() || !customer.complete) return;
  turns_.leave(customer);
  if (customer.is_served() || customer.wants_fetch) return;
  if (customer.evicted && is_blocked(customer.name)) return;
  clocks_.note(customer.name, turns_.clock_us(customer), turns_.now_us());
  customers_.erase(customers_.find(customer.name));
}

/// Null: unknown.
DispatchQueue::Customer* DispatchQueue::find(const std::string& name) {
  const auto found = customers_.find(name);
  return found == customers_.end() ? nullptr : &found->second;
}

const DispatchQueue::Customer* DispatchQueue::find(const std::string& name) const {
  const auto found = customers_.find(name);
  return found == customers_.end() ? nullptr : &found->second;
}

DispatchQueue::Customer& DispatchQueue::customer(const std::string& name) {
  const auto [found, added] = customers_.try_emplace(name);
  if (!added) return found->second;
  found->second.name = name;
  turns_.set_weight(found->second, terms_.weights.weight_of(name));
  turns_.set_clock(found->second, clocks_.take(name));
  return found->second;
}

}  // namespace cells
