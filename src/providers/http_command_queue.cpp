#include "src/providers/http_command_queue.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "src/providers/steady_now.hpp"

namespace celld::providers {

HttpCommandQueue::HttpCommandQueue() : wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

HttpCommandQueue::~HttpCommandQueue() {
  ::close(wake_fd_);
}

void HttpCommandQueue::start(const cells::Lease& lease, HttpRequest request, Ended ended) {
  const auto deadline = steady_now() + request.timeout;
  push(Start{lease, std::move(request), deadline, std::move(ended)});
}

void HttpCommandQueue::abort(const cells::Lease& lease, Gone gone) {
  push(Abort{lease, std::move(gone)});
}

std::vector<HttpCommandQueue::Command> HttpCommandQueue::take() {
  const std::lock_guard lock(mutex_);
  eventfd_t count = 0;
  eventfd_read(wake_fd_, &count);  // Fails when nothing woke us, which is as good.
  return std::exchange(commands_, {});
}

bool HttpCommandQueue::stop_requested() {
  const std::lock_guard lock(mutex_);
  return stop_requested_;
}

void HttpCommandQueue::close() {
  std::vector<Command> rest;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    rest.swap(commands_);
  }
  for (auto& command : rest) refuse(command);
}

void HttpCommandQueue::request_stop() {
  const std::lock_guard lock(mutex_);
  stop_requested_ = true;
  wake();
}

void HttpCommandQueue::push(Command command) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      commands_.push_back(std::move(command));
      if (commands_.size() == 1) wake();
      return;
    }
  }
  refuse(command);
}

void HttpCommandQueue::wake() const {
  eventfd_write(wake_fd_, 1);
}

void HttpCommandQueue::refuse(Command& command) {
  if (auto* start = std::get_if<Start>(&command)) {
    start->ended(HttpResult{});
  } else {
    std::get<Abort>(command).gone();
  }
}

}  // namespace celld::providers
