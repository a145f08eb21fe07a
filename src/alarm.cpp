#include "src/alarm.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <system_error>
#include <utility>

#include <sys/timerfd.h>
#include <unistd.h>

namespace celld {
namespace {

void set_timer(int timer, std::chrono::nanoseconds delay) {
  constexpr std::int64_t second = 1'000'000'000;
  itimerspec time{};
  time.it_value.tv_sec = static_cast<std::time_t>(delay.count() / second);
  time.it_value.tv_nsec = static_cast<long>(delay.count() % second);
  ::timerfd_settime(timer, 0, &time, nullptr);
}

}  // namespace

Alarm::Alarm(std::function<void()> ring)
    : ring_(std::move(ring)), timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
  if (timer_ < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
  waiter_ = std::thread([this] { wait(); });
}

Alarm::~Alarm() {
  ended_ = true;
  set(std::chrono::nanoseconds{0});
  waiter_.join();
  ::close(timer_);
}

/// A time of zero would clear the timer.
void Alarm::set(std::chrono::nanoseconds delay) {
  set_timer(timer_, std::max(delay, std::chrono::nanoseconds{1}));
}

void Alarm::clear() {
  set_timer(timer_, std::chrono::nanoseconds{0});
}

/// `ring_` may replace the time that the destructor has set, so the loop checks `ended_` after it,
/// too.
void Alarm::wait() {
  while (!ended_) {
    std::uint64_t expirations = 0;
    if (::read(timer_, &expirations, sizeof expirations) < 0 && errno != EINTR) return;
    if (expirations > 0 && !ended_) ring_();
  }
}

}  // namespace celld
