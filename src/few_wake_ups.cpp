#include "src/few_wake_ups.hpp"

#include <cerrno>
#include <system_error>

#include <sys/timerfd.h>
#include <unistd.h>

namespace celld {

ReadyActors::ReadyActors() : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
  if (timer_ < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
  watcher_ = std::thread([this] { watch(); });
}

ReadyActors::~ReadyActors() {
  {
    const std::lock_guard lock{mutex_};
    ended_ = true;
    arm_timer();
  }
  watcher_.join();
  ::close(timer_);
}

void ReadyActors::add(caf::resumable* actor, bool from_outside) {
  std::unique_lock lock{mutex_};
  ready_.push_back(actor);
  wake_if_needed(lock, from_outside);
}

void ReadyActors::join() {
  const std::lock_guard lock{mutex_};
  ++awake_;
}

caf::resumable* ReadyActors::take() {
  std::unique_lock lock{mutex_};
  while (ready_.empty()) {
    --awake_;
    ++asleep_;
    woken_.wait(lock, [&] { return wake_ups_ > 0; });
    --wake_ups_;
  }
  ++taken_;
  auto* actor = ready_.front();
  ready_.pop_front();
  return actor;
}

/// What became ready while this thread was still awake is left to the others.
void ReadyActors::leave() {
  std::unique_lock lock{mutex_};
  --awake_;
  wake_if_needed(lock, true);
}

std::deque<caf::resumable*> ReadyActors::take_all() {
  const std::lock_guard lock{mutex_};
  return std::exchange(ready_, {});
}

std::size_t ReadyActors::asleep() {
  const std::lock_guard lock{mutex_};
  return asleep_;
}

void ReadyActors::wake_if_needed(std::unique_lock<std::mutex>& lock, bool from_outside) {
  if (asleep_ == 0 || ready_.empty()) return;
  if (ready_.size() > waiting_max * awake_) {
    wake_one(lock);
  } else if (from_outside && !armed_) {
    arm_timer();
  }
}

void ReadyActors::wake_one(std::unique_lock<std::mutex>& lock) {
  --asleep_;
  ++awake_;
  ++wake_ups_;
  lock.unlock();
  woken_.notify_one();
}

void ReadyActors::arm_timer() {
  armed_ = true;
  taken_when_armed_ = taken_;
  itimerspec time{};
  time.it_value.tv_nsec = std::chrono::nanoseconds(patience).count();
  ::timerfd_settime(timer_, 0, &time, nullptr);
}

/// Looks after actors that wait, each time the timer expires.
void ReadyActors::watch() {
  for (;;) {
    std::uint64_t expirations = 0;
    if (::read(timer_, &expirations, sizeof expirations) < 0 && errno != EINTR) return;
    std::unique_lock lock{mutex_};
    if (ended_) return;
    armed_ = false;
    if (ready_.empty() || asleep_ == 0) continue;
    const bool stuck = taken_ == taken_when_armed_;
    arm_timer();
    if (stuck) wake_one(lock);
  }
}

}  // namespace celld
