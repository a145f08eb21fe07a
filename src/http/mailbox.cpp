#include "src/http/mailbox.hpp"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace celld::http {

Mailbox::Mailbox()
    : wake_fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      timer_fd_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
  if (!wake_fd_ || !timer_fd_) {
    throw std::system_error(errno, std::generic_category(), "eventfd or timerfd_create");
  }
}

void Mailbox::post(Notice notice) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  notices_.push_back(std::move(notice));
  if (std::exchange(asleep_, false)) signal();
}

void Mailbox::post_quietly(Notice notice) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  notices_.push_back(std::move(notice));
  if (!asleep_) return;
  if (notices_.size() >= quiet_max) {
    asleep_ = false;
    signal();
  } else if (!std::exchange(timer_armed_, true)) {
    arm_timer();
  }
}

void Mailbox::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  if (std::exchange(asleep_, false)) signal();
}

bool Mailbox::fall_asleep() {
  const std::lock_guard lock(mutex_);
  asleep_ = notices_.empty() && !woken_;
  woken_ = false;
  return asleep_;
}

void Mailbox::wake_up() {
  const std::lock_guard lock(mutex_);
  asleep_ = false;
}

void Mailbox::take(std::vector<Notice>& notices) {
  notices.clear();
  const std::lock_guard lock(mutex_);
  notices.swap(notices_);
}

void Mailbox::timer_expired() {
  const std::lock_guard lock(mutex_);
  timer_armed_ = false;
}

void Mailbox::close() {
  std::vector<Notice> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(notices_);
}

void Mailbox::arm_timer() const {
  itimerspec time{};
  time.it_value.tv_nsec = std::chrono::nanoseconds(quiet_delay).count();
  ::timerfd_settime(timer_fd_.get(), 0, &time, nullptr);
}

void Mailbox::signal() const {
  const std::uint64_t one = 1;
  // The write can only fail while the counter is at its maximum, and then the poller is awake.
  [[maybe_unused]] const auto written = ::write(wake_fd_.get(), &one, sizeof one);
}

}  // namespace celld::http
