#include "cells/model/lease_table.hpp"

#include <cassert>

namespace cells {
namespace {

template <class Time>
std::vector<Lease> due_at(const std::set<std::pair<Time, Lease>>& due, Time now) {
  std::vector<Lease> leases;
  for (const auto& [time, lease] : due) {
    if (time > now) break;
    leases.push_back(lease);
  }
  return leases;
}

}  // namespace

void LeaseTable::add(const Lease& lease, LiveLease entry) {
  jobs_.emplace(entry.job->id, lease);
  if (entry.abort == AbortCause::none) {
    deadlines_.emplace(entry.deadline, lease);
    if (const auto expiry = expiry_of(*entry.job)) expiries_.emplace(*expiry, lease);
  }
  if (entry.outside) outside_ += 1;
  leases_.emplace(lease, std::move(entry));
}

LiveLease* LeaseTable::find(const Lease& lease) {
  const auto found = leases_.find(lease);
  return found == leases_.end() ? nullptr : &found->second;
}

const LiveLease* LeaseTable::find(const Lease& lease) const {
  const auto found = leases_.find(lease);
  return found == leases_.end() ? nullptr : &found->second;
}

LiveLease LeaseTable::remove(const Lease& lease) {
  abort(lease, AbortCause::none);
  const auto found = leases_.find(lease);
  LiveLease entry = std::move(found->second);
  jobs_.erase(entry.job->id);
  if (entry.outside) outside_ -= 1;
  leases_.erase(found);
  return entry;
}

void LeaseTable::start(const Lease& lease, SteadyTime deadline) {
  LiveLease* entry = find(lease);
  assert(entry);
  entry->started = true;
  if (deadlines_.erase({entry->deadline, lease}) > 0) deadlines_.emplace(deadline, lease);
  entry->deadline = deadline;
}

void LeaseTable::abort(const Lease& lease, AbortCause cause) {
  LiveLease* entry = find(lease);
  assert(entry);
  deadlines_.erase({entry->deadline, lease});
  if (const auto expiry = expiry_of(*entry->job)) expiries_.erase({*expiry, lease});
  if (cause != AbortCause::none) entry->abort = cause;
}

void LeaseTable::ask_back(const Lease& lease) {
  LiveLease* entry = find(lease);
  assert(entry && entry->outside);
  entry->abort = AbortCause::cancel;
}

std::vector<Lease> LeaseTable::overdue(SteadyTime now) const {
  return due_at(deadlines_, now);
}

std::vector<Lease> LeaseTable::expired(WallTime now) const {
  return due_at(expiries_, now);
}

std::optional<Lease> LeaseTable::lease_of(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? std::nullopt : std::optional{found->second};
}

std::vector<Lease> LeaseTable::all() const {
  std::vector<Lease> leases;
  leases.reserve(leases_.size());
  for (const auto& [lease, entry] : leases_) leases.push_back(lease);
  return leases;
}

std::optional<SteadyTime> LeaseTable::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

std::optional<WallTime> LeaseTable::next_expiry() const {
  if (expiries_.empty()) return std::nullopt;
  return expiries_.begin()->first;
}

}  // namespace cells
