// The sockets: the only place that reads from and writes to the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace celld::http {

/// A file descriptor that closes itself.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_;
};

/// What one attempt to read or write came to.
struct Transfer {
  enum class Outcome { done, would_block, end, failed };
  Outcome outcome = Outcome::done;
  std::size_t bytes = 0;
};

/// One client's byte stream; never blocks, never raises SIGPIPE. An encrypted stream goes here.
class Socket {
 public:
  explicit Socket(FileDescriptor fd) : fd_(std::move(fd)) {}

  Transfer read(char* to, std::size_t size);
  /// Writes as much as the kernel takes: `done` with all of it, `would_block` with a part.
  Transfer write(std::string_view from);
  /// Tells the client that nothing more comes; reading goes on.
  void shut_down_writing();
  void close() { fd_.reset(); }
  int fd() const { return fd_.get(); }

 private:
  FileDescriptor fd_;
};

/// Binds and listens. Returns the socket and the port taken, or an error text.
struct Listening {
  FileDescriptor socket;
  std::uint16_t port = 0;
  std::string error;
};
Listening listen_on(const std::string& host, std::uint16_t port);

/// The next client of a listening socket, with TCP_NODELAY, and its address as text. `error` is the
/// errno when there is none.
struct Accepted {
  FileDescriptor socket;
  std::string peer;
  int error = 0;
};
Accepted accept_from(int listening);

}  // namespace celld::http
