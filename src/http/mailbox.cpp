#include "src/http/mailbox.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace celld::http {

Mailbox::Mailbox() : wake_fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!wake_fd_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void Mailbox::post(Notice notice) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  notices_.push_back(std::move(notice));
  if (std::exchange(asleep_, false)) signal();
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

void Mailbox::close() {
  std::vector<Notice> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(notices_);
}

void Mailbox::signal() const {
  const std::uint64_t one = 1;
  // The write can only fail while the counter is at its maximum, and then the poller is awake.
  [[maybe_unused]] const auto written = ::write(wake_fd_.get(), &one, sizeof one);
}

}  // namespace celld::http
