#include "tests/bench/provider_server.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace celld::bench {
namespace {

constexpr std::chrono::seconds call_timeout{30};
constexpr int backlog = 4096;
constexpr std::string_view success = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

Descriptor listen_on_loopback() {
  Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket.get() < 0 ||
      ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), backlog) != 0) {
    throw std::runtime_error("the provider cannot listen");
  }
  return socket;
}

std::uint16_t port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

void watch(int poll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace

ProviderServer::ProviderServer(Mode mode)
    : mode_(mode),
      listener_(listen_on_loopback()),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_up_(::eventfd(0, EFD_CLOEXEC)) {
  watch(poll_.get(), listener_.get());
  watch(poll_.get(), wake_up_.get());
  thread_ = std::thread{[this] { serve(); }};
}

ProviderServer::~ProviderServer() {
  ::eventfd_write(wake_up_.get(), 1);
  thread_.join();
}

nlohmann::json ProviderServer::service() const {
  const auto port = std::to_string(port_of(listener_.get()));
  return {{"type", "http"}, {"url", "http://127.0.0.1:" + port + "/"}};
}

std::size_t ProviderServer::calls() const {
  const std::lock_guard lock{mutex_};
  return calls_.size();
}

Clock::time_point ProviderServer::await_call(std::size_t nth) {
  std::unique_lock lock{mutex_};
  if (!arrived_.wait_for(lock, call_timeout, [&] { return calls_.size() >= nth; })) {
    throw std::runtime_error("call " + std::to_string(nth) + " did not arrive; there were " +
                             std::to_string(calls_.size()));
  }
  return calls_[nth - 1];
}

Clock::time_point ProviderServer::answer(std::size_t count) {
  for (; count > 0; --count) {
    std::unique_lock lock{mutex_};
    if (held_.empty()) throw std::runtime_error("no call is held");
    const int fd = held_.front();
    held_.pop_front();
    lock.unlock();
    send_whole(fd, success);
  }
  return Clock::now();
}

std::size_t ProviderServer::peak() {
  const std::lock_guard lock{mutex_};
  return std::exchange(peak_, held_.size());
}

void ProviderServer::serve() {
  for (;;) {
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(poll_.get(), events.data(), events.size(), -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == wake_up_.get()) return;
      if (fd == listener_.get()) {
        accept_all();
      } else {
        read_from(fd);
      }
    }
  }
}

void ProviderServer::accept_all() {
  for (;;) {
    Descriptor socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    const int fd = socket.get();
    if (fd < 0) return;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections_[fd].socket = std::move(socket);
    watch(poll_.get(), fd);
  }
}

void ProviderServer::read_from(int fd) {
  auto& connection = connections_.at(fd);
  if (!connection.reader.fill(fd)) {
    connections_.erase(fd);
    return;
  }
  while (connection.reader.next()) note_call(fd);
}

void ProviderServer::note_call(int fd) {
  const auto now = Clock::now();
  if (mode_ == Mode::answer) send_whole(fd, success);
  {
    const std::lock_guard lock{mutex_};
    calls_.push_back(now);
    if (mode_ == Mode::hold) {
      held_.push_back(fd);
      peak_ = std::max(peak_, held_.size());
    }
  }
  arrived_.notify_all();
}

}  // namespace celld::bench
