#include "tests/unit/src/providers/http/misbehaving_provider.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace celld::test {
namespace {

constexpr milliseconds wait_max{10'000};
constexpr std::size_t request_bytes_max = 8 << 20;

std::pair<int, std::uint16_t> listen_on_loopback() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || bind(fd, generic, size) != 0 || listen(fd, 4096) != 0 ||
      getsockname(fd, generic, &size) != 0) {
    throw std::runtime_error("cannot listen on loopback");
  }
  return {fd, ntohs(address.sin_port)};
}

}  // namespace

std::string SentRequest::header(std::string_view name) const {
  std::size_t at = head.find("\r\n");
  while (at != std::string::npos && at + 2 < head.size()) {
    at += 2;
    const auto end = head.find("\r\n", at);
    const auto line = std::string_view(head).substr(at, end - at);
    if (line.size() > name.size() && line[name.size()] == ':' &&
        strncasecmp(line.data(), name.data(), name.size()) == 0) {
      const auto value = line.find_first_not_of(' ', name.size() + 1);
      return std::string(value == std::string_view::npos ? "" : line.substr(value));
    }
    at = end;
  }
  return {};
}

Connection::~Connection() {
  close();
}

std::optional<SentRequest> Connection::read_request() {
  while (buffer_.size() < request_bytes_max) {
    if (const auto end = buffer_.find("\r\n\r\n"); end != std::string::npos) {
      SentRequest request{buffer_.substr(0, end + 2), {}};
      const auto length = std::strtoul(request.header("Content-Length").c_str(), nullptr, 10);
      if (buffer_.size() >= end + 4 + length) {
        request.body = buffer_.substr(end + 4, length);
        buffer_.erase(0, end + 4 + length);
        return request;
      }
    }
    if (!wait(POLLIN, wait_max)) return std::nullopt;
    std::array<char, 16384> piece;
    const auto count = recv(fd_, piece.data(), piece.size(), 0);
    if (count <= 0) return std::nullopt;
    buffer_.append(piece.data(), static_cast<std::size_t>(count));
  }
  return std::nullopt;
}

bool Connection::wait_closed(milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !wait(POLLIN, left)) return false;
    std::array<char, 4096> piece;
    if (recv(fd_, piece.data(), piece.size(), 0) <= 0) return true;
  }
}

bool Connection::send(std::string_view data) {
  while (!data.empty()) {
    if (!wait(POLLOUT, wait_max)) return false;
    const auto count = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void Connection::flood(std::string_view data, std::size_t bytes_max) {
  for (std::size_t sent = 0; sent < bytes_max; sent += data.size()) {
    if (!send(data)) return;
  }
}

void Connection::drip(std::string_view data, milliseconds pause) {
  for (const char c : data) {
    if (wait_closed(pause) || !send({&c, 1})) return;
  }
}

void Connection::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Connection::reset() {
  const linger hard{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close();
}

bool Connection::wait(short events, milliseconds limit) const {
  std::array<pollfd, 2> fds{{{fd_, events, 0}, {stop_fd_, POLLIN, 0}}};
  return poll(fds.data(), fds.size(), static_cast<int>(limit.count())) > 0 && fds[1].revents == 0;
}

std::string http_answer(std::string_view status, std::string_view body,
                        std::string_view more_headers) {
  std::string text = "HTTP/1.1 ";
  text += status;
  text += "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  text += more_headers;
  text += "\r\n";
  text += body;
  return text;
}

MisbehavingProvider::MisbehavingProvider(Script script)
    : script_(std::move(script)), stop_fd_(eventfd(0, EFD_CLOEXEC)) {
  std::tie(listen_fd_, port_) = listen_on_loopback();
  acceptor_ = std::thread([this] { accept_all(); });
}

MisbehavingProvider::~MisbehavingProvider() {
  eventfd_write(stop_fd_, 1);
  acceptor_.join();
  for (auto& script : scripts_) script.join();
  ::close(listen_fd_);
  ::close(stop_fd_);
}

std::string MisbehavingProvider::url(std::string_view scheme) const {
  return std::string(scheme) + "://127.0.0.1:" + std::to_string(port_) + "/call";
}

void MisbehavingProvider::accept_all() {
  for (;;) {
    std::array<pollfd, 2> fds{{{listen_fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}}};
    if (poll(fds.data(), fds.size(), -1) <= 0 || fds[1].revents != 0) return;
    const int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    ++connections_;
    scripts_.emplace_back([this, fd] {
      Connection connection(fd, stop_fd_);
      script_(connection);
    });
  }
}

std::uint16_t unused_port() {
  const auto [fd, port] = listen_on_loopback();
  ::close(fd);
  return port;
}

}  // namespace celld::test
