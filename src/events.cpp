#include "src/events.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
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

}  // namespace

Events::Events() {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&wanted, signal);
  ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  signals_ = checked(::signalfd(-1, &wanted, SFD_CLOEXEC), "signalfd");
  failures_ = checked(::eventfd(0, EFD_CLOEXEC), "eventfd");
  reloads_ = checked(::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE), "eventfd");
}

Events::~Events() {
  ::close(signals_);
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
    std::array<pollfd, 3> ready{pollfd{failures_, POLLIN, 0}, pollfd{signals_, POLLIN, 0},
                                pollfd{reloads_, POLLIN, 0}};
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[0].revents != 0) {
      const std::lock_guard lock{mutex_};
      return failure_;
    }
    std::uint64_t count = 0;
    if (ready[1].revents == 0) {
      if (::read(reloads_, &count, sizeof count) != static_cast<ssize_t>(sizeof count)) continue;
      const std::lock_guard lock{mutex_};
      Event event{Kind::reload, "", std::move(asked_.front())};
      asked_.pop_front();
      return event;
    }
    signalfd_siginfo info{};
    if (::read(signals_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) continue;
    return {info.ssi_signo == SIGHUP ? Kind::hang_up : Kind::stop, "", {}};
  }
}

}  // namespace celld
