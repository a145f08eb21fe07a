#include "src/events.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace celld {
namespace {

int checked(int descriptor, const char* what) {
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), what);
  return descriptor;
}

int receive(std::initializer_list<int> signals) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : signals) sigaddset(&wanted, signal);
  ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  return checked(::signalfd(-1, &wanted, SFD_CLOEXEC), "signalfd");
}

/// Whether there was a signal to take from this signalfd.
bool take_signal(int descriptor) {
  signalfd_siginfo info{};
  return ::read(descriptor, &info, sizeof info) == static_cast<ssize_t>(sizeof info);
}

}  // namespace

Events::Events() {
  ::signal(SIGPIPE, SIG_IGN);
  stops_ = receive({SIGTERM, SIGINT});
  hang_ups_ = receive({SIGHUP});
  failures_ = checked(::eventfd(0, EFD_CLOEXEC), "eventfd");
  reloads_ = checked(::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE), "eventfd");
}

Events::~Events() {
  ::close(stops_);
  ::close(hang_ups_);
  ::close(failures_);
  ::close(reloads_);
}

void Events::fail(Kind kind, std::string detail) {
  {
    const std::lock_guard lock{mutex_};
    if (failed_) return;
    failed_ = true;
    failure_ = {kind, std::move(detail), {}};
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(failures_, &one, sizeof one);
}

std::optional<std::string> Events::failure() const {
  const std::lock_guard lock{mutex_};
  return failed_ ? std::optional{failure_.detail} : std::nullopt;
}

void Events::ask_reload(api::ReloadAnswer answer) {
  {
    std::unique_lock lock{mutex_};
    if (refuses_reloads_) {
      lock.unlock();
      return answer(api::ReloadRefused{});
    }
    asked_.push_back(std::move(answer));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(reloads_, &one, sizeof one);
}

void Events::refuse_reloads() {
  std::deque<api::ReloadAnswer> asked;
  {
    const std::lock_guard lock{mutex_};
    refuses_reloads_ = true;
    asked.swap(asked_);
  }
  for (const auto& answer : asked) answer(api::ReloadRefused{});
}

Events::Event Events::wait() {
  for (;;) {
    std::array<pollfd, 4> ready{pollfd{failures_, POLLIN, 0}, pollfd{stops_, POLLIN, 0},
                                pollfd{hang_ups_, POLLIN, 0}, pollfd{reloads_, POLLIN, 0}};
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[0].revents != 0) {
      const std::lock_guard lock{mutex_};
      return failure_;
    }
    if (ready[1].revents != 0) {
      if (take_signal(stops_)) return {Kind::stop, "", {}};
    } else if (ready[2].revents != 0) {
      if (take_signal(hang_ups_)) return {Kind::hang_up, "", {}};
    } else {
      std::uint64_t count = 0;
      if (::read(reloads_, &count, sizeof count) != static_cast<ssize_t>(sizeof count)) continue;
      const std::lock_guard lock{mutex_};
      Event event{Kind::reload, "", std::move(asked_.front())};
      asked_.pop_front();
      return event;
    }
  }
}

bool Events::stop_is_waiting() const {
  pollfd stop{stops_, POLLIN, 0};
  return ::poll(&stop, 1, 0) > 0;
}

}  // namespace celld
