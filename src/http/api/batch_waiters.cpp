#include "src/http/api/batch_waiters.hpp"

#include <algorithm>
#include <utility>

namespace celld::api {

bool BatchWaiters::has_room_for(const std::string& report) const {
  return waiters_.size() < waiters_max_ && bytes_ + report.size() <= bytes_max_;
}

void BatchWaiters::add(BatchWaiter waiter) {
  bytes_ += waiter.report.size();
  waiters_.push_back(std::move(waiter));
}

std::optional<BatchWaiter> BatchWaiters::take(cells::BatchId id) {
  const auto found = std::find_if(waiters_.begin(), waiters_.end(),
                                  [id](const BatchWaiter& each) { return each.id == id; });
  if (found == waiters_.end()) return std::nullopt;
  auto waiter = std::move(*found);
  waiters_.erase(found);
  bytes_ -= waiter.report.size();
  return waiter;
}

std::vector<BatchWaiter> BatchWaiters::take_expired(Time now) {
  return take_if([now](const BatchWaiter& each) { return now >= each.deadline; });
}

std::vector<BatchWaiter> BatchWaiters::take_all() {
  bytes_ = 0;
  return std::exchange(waiters_, {});
}

void BatchWaiters::drop_gone() {
  take_if([](const BatchWaiter& each) { return !each.responder.connected(); });
}

std::vector<BatchWaiter> BatchWaiters::take_half_closed() {
  return take_if([](const BatchWaiter& each) { return !each.responder.open_both_ways(); });
}

template <class Condition>
std::vector<BatchWaiter> BatchWaiters::take_if(const Condition& is_over) {
  std::vector<BatchWaiter> taken;
  for (auto& waiter : std::exchange(waiters_, {})) {
    auto& there = is_over(waiter) ? taken : waiters_;
    there.push_back(std::move(waiter));
  }
  for (const auto& waiter : taken) bytes_ -= waiter.report.size();
  return taken;
}

}  // namespace celld::api
