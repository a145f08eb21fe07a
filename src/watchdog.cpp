#include "src/watchdog.hpp"

#include <algorithm>
#include <utility>

namespace celld {

Watchdog::Watchdog(milliseconds interval, Duties duties)
    : pause_(std::max(interval / 3, milliseconds{1})),
      duties_(std::move(duties)),
      thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ending_.notify_one();
  thread_.join();
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    lock.unlock();
    if (duties_.answers(pause_)) {
      duties_.alive();
    } else {
      duties_.silent();
    }
    lock.lock();
    ending_.wait_for(lock, pause_, [&] { return ends_; });
  }
}

}  // namespace celld
