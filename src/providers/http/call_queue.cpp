#include "src/providers/http/call_queue.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "src/providers/steady_now.hpp"

namespace celld::providers {

HttpCallQueue::HttpCallQueue() : wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

HttpCallQueue::~HttpCallQueue() {
  ::close(wake_fd_);
}

void HttpCallQueue::start(const cells::Lease& lease, HttpRequest request, Ended ended) {
  const auto deadline = steady_now() + request.timeout;
  push(Start{lease, std::move(request), deadline, std::move(ended)});
}

void HttpCallQueue::abort(const cells::Lease& lease, Gone gone) {
  push(Abort{lease, std::move(gone)});
}

void HttpCallQueue::host_found(const std::string& name, HostAddresses found) {
  push(HostFound{name, std::move(found)});
}

std::vector<HttpCallQueue::Operation> HttpCallQueue::take() {
  const std::lock_guard lock(mutex_);
  eventfd_t count = 0;
  eventfd_read(wake_fd_, &count);  // Fails when there was no wake-up, which is fine.
  return std::exchange(operations_, {});
}

bool HttpCallQueue::stop_requested() {
  const std::lock_guard lock(mutex_);
  return stop_requested_;
}

void HttpCallQueue::close() {
  std::vector<Operation> rest;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    rest.swap(operations_);
  }
  for (auto& operation : rest) refuse(operation);
}

void HttpCallQueue::request_stop() {
  const std::lock_guard lock(mutex_);
  stop_requested_ = true;
  wake();
}

/// Releases the lock before it wakes the transport, which would otherwise wait for the lock.
void HttpCallQueue::push(Operation operation) {
  std::unique_lock lock(mutex_);
  if (closed_) {
    lock.unlock();
    return refuse(operation);
  }
  operations_.push_back(std::move(operation));
  const bool is_first = operations_.size() == 1;
  lock.unlock();
  if (is_first) wake();
}

void HttpCallQueue::wake() const {
  eventfd_write(wake_fd_, 1);
}

void HttpCallQueue::refuse(Operation& operation) {
  if (auto* start = std::get_if<Start>(&operation)) {
    start->ended(HttpResult{});
  } else if (auto* abort = std::get_if<Abort>(&operation)) {
    abort->gone();
  }
}

}  // namespace celld::providers
