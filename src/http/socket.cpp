#include "src/http/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

namespace celld::http {
namespace {

constexpr int listen_backlog = 1024;

std::string error_text(int error) {
  return std::generic_category().message(error);
}

std::string address_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

std::uint16_t port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    return ntohs(v6.sin6_port);
  }
  sockaddr_in v4{};
  std::memcpy(&v4, &address, sizeof v4);
  return ntohs(v4.sin_port);
}

/// Binds and listens on one address. On failure returns an invalid descriptor and sets errno.
FileDescriptor listen_at(const addrinfo& address) {
  FileDescriptor fd(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (fd && setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      ::bind(fd.get(), address.ai_addr, address.ai_addrlen) == 0 &&
      ::listen(fd.get(), listen_backlog) == 0) {
    return fd;
  }
  const int error = errno;
  fd.reset();
  errno = error;
  return fd;
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void FileDescriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Transfer receive_plain(int fd, char* to, std::size_t size) {
  using enum Transfer::Outcome;
  for (;;) {
    const ssize_t n = ::recv(fd, to, size, MSG_DONTWAIT);
    if (n > 0) return {done, static_cast<std::size_t>(n)};
    if (n == 0) return {end, 0};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {would_block, 0};
    if (errno != EINTR) return {failed, 0};
  }
}

Transfer send_plain(int fd, std::string_view from) {
  using enum Transfer::Outcome;
  std::size_t written = 0;
  while (written < from.size()) {
    const ssize_t n =
        ::send(fd, from.data() + written, from.size() - written, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      written += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return {would_block, written};
    } else if (errno != EINTR) {
      return {failed, written};
    }
  }
  return {done, written};
}

Socket::Socket(FileDescriptor fd, std::unique_ptr<TlsStream> tls)
    : fd_(std::move(fd)), tls_(std::move(tls)) {}

bool Socket::shut_down_writing() {
  if (tls_ && !tls_->send_close_notify()) return false;
  tls_.reset();
  ::shutdown(fd_.get(), SHUT_WR);
  return true;
}

void Socket::cut() const noexcept {
  ::shutdown(fd_.get(), SHUT_RDWR);
}

void Socket::expect_acknowledgement_within(std::chrono::milliseconds time) const {
  const auto ms = static_cast<unsigned int>(time.count());
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

void Socket::close() {
  tls_.reset();
  fd_.reset();
}

Listening listen_on(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) return {FileDescriptor{}, 0, host + ": " + gai_strerror(failure)};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);

  int error = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    if (auto fd = listen_at(*address)) {
      const auto taken = port_of(fd.get());
      return {std::move(fd), taken, {}};
    }
    error = errno;
  }
  return {FileDescriptor{}, 0, host + ":" + std::to_string(port) + ": " + error_text(error)};
}

Listening adopt(FileDescriptor listening) {
  const int fd = listening.get();
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0 ||
      ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return {FileDescriptor{}, 0, "the listening socket: " + error_text(errno)};
  }
  const auto port = port_of(fd);
  return {std::move(listening), port, {}};
}

Accepted accept_from(int listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  FileDescriptor fd(::accept4(listening, reinterpret_cast<sockaddr*>(&address), &size,
                              SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd) return {FileDescriptor{}, {}, errno};
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return {std::move(fd), address_text(address), 0};
}

}  // namespace celld::http
