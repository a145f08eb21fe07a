#include "src/http/api/waiters.hpp"

#include <iterator>

namespace celld::api {

bool Waiters::has_room_for(const cells::Job& job) const {
  return waiting_.empty() || bytes_ + cells::approximate_bytes(job) <= bytes_max;
}

void Waiters::add(Waiter waiter, Time deadline) {
  const cells::JobId id = waiter.job->id;
  const std::size_t bytes = cells::approximate_bytes(*waiter.job);
  bytes_ += bytes;
  const auto entry = waiting_.emplace(id, Entry{std::move(waiter), deadline, ++number_, bytes});
  deadlines_.emplace(std::pair{deadline, number_}, entry);
}

std::vector<Waiter> Waiters::changed(const cells::JobPtr& job) {
  std::vector<Waiter> answered;
  auto [entry, end] = waiting_.equal_range(job->id);
  const auto bytes = entry == end ? 0 : cells::approximate_bytes(*job);
  while (entry != end) {
    const auto next = std::next(entry);
    bytes_ = bytes_ - entry->second.bytes + bytes;
    entry->second.bytes = bytes;
    entry->second.waiter.job = job;
    const bool is_ended = cells::is_ended(job->state);
    const bool has_room = bytes_ <= bytes_max || waiting_.size() == 1;
    if (!is_ended && !has_room) entry->second.waiter.wait = std::chrono::seconds(0);
    if (is_ended || !has_room) answered.push_back(take(entry));
    entry = next;
  }
  return answered;
}

std::set<cells::JobId> Waiters::jobs() const {
  std::set<cells::JobId> jobs;
  for (const auto& [id, entry] : waiting_) jobs.insert(jobs.end(), id);
  return jobs;
}

std::vector<Waiter> Waiters::take_expired(Time now) {
  std::vector<Waiter> expired;
  while (!deadlines_.empty() && deadlines_.begin()->first.first <= now)
    expired.push_back(take(deadlines_.begin()->second));
  return expired;
}

std::vector<Waiter> Waiters::take_all() {
  return take_expired(Time::max());
}

std::vector<Waiter> Waiters::take_gone(std::size_t keep) {
  std::vector<Waiter> answered;
  std::size_t half_closed = 0;
  for (auto entry = waiting_.end(); entry != waiting_.begin();) {
    --entry;
    const auto& responder = entry->second.waiter.responder;
    if (responder.open_both_ways()) continue;
    const bool is_connected = responder.connected();
    if (is_connected && ++half_closed <= keep) continue;
    const auto next = std::next(entry);
    auto gone = take(entry);
    gone.wait = std::chrono::seconds(0);
    if (is_connected) answered.push_back(std::move(gone));
    entry = next;
  }
  return answered;
}

std::optional<Waiters::Time> Waiters::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first.first;
}

Waiter Waiters::take(Map::iterator entry) {
  deadlines_.erase({entry->second.deadline, entry->second.number});
  Waiter waiter = std::move(entry->second.waiter);
  bytes_ -= entry->second.bytes;
  waiting_.erase(entry);
  return waiter;
}

}  // namespace celld::api
