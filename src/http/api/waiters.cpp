#include "src/http/api/waiters.hpp"

#include <iterator>

namespace celld::api {

void Waiters::add(Waiter waiter, Time deadline) {
  const cells::JobId id = waiter.job->id;
  if (waiting_.emplace(id, Entry{std::move(waiter), deadline}).second)
    deadlines_.emplace(deadline, id);
}

std::optional<Waiter> Waiters::changed(const cells::JobPtr& job) {
  const auto entry = waiting_.find(job->id);
  if (entry == waiting_.end()) return std::nullopt;
  entry->second.waiter.job = job;
  if (!cells::is_ended(job->state)) return std::nullopt;
  return take(entry);
}

std::vector<Waiter> Waiters::take_expired(Time now) {
  std::vector<Waiter> expired;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now)
    expired.push_back(take(waiting_.find(deadlines_.begin()->second)));
  return expired;
}

std::vector<Waiter> Waiters::take_all() {
  return take_expired(Time::max());
}

void Waiters::drop_gone() {
  for (auto entry = waiting_.begin(); entry != waiting_.end();) {
    const auto next = std::next(entry);
    if (!entry->second.waiter.responder.connected()) take(entry);
    entry = next;
  }
}

std::optional<Waiters::Time> Waiters::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

Waiter Waiters::take(Map::iterator entry) {
  deadlines_.erase({entry->second.deadline, entry->first});
  Waiter waiter = std::move(entry->second.waiter);
  waiting_.erase(entry);
  return waiter;
}

}  // namespace celld::api
