// The sockets. No other code of the HTTP server reads from or writes to the network.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "src/http/tls_stream.hpp"
#include "src/http/transfer.hpp"

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

/// One client's byte stream, plain or encrypted. Never blocks, never raises SIGPIPE. An encrypted
/// stream may be used by one thread only.
class Socket {
 public:
  explicit Socket(FileDescriptor fd, std::unique_ptr<TlsStream> tls = nullptr);

  Transfer read(char* to, std::size_t size) {
    return tls_ ? tls_->read(to, size) : receive_plain(fd_.get(), to, size);
  }
  /// Writes as much as the kernel takes: `done` with all of it, `would_block` with a part.
  Transfer write(std::string_view from) {
    return tls_ ? tls_->write(from) : send_plain(fd_.get(), from);
  }
  /// Closes the sending side. Input can still be read, but it is no longer decrypted. False: retry
  /// once the socket is writable.
  bool shut_down_writing();
  /// Breaks the connection, which its poller then notices. Thread-safe.
  void cut() const noexcept;
  /// Breaks the connection when sent data stays unacknowledged for this long.
  void expect_acknowledgement_within(std::chrono::milliseconds time) const;
  void close();
  int fd() const { return fd_.get(); }

  bool encrypted() const { return tls_ != nullptr; }
  /// Whether the TLS handshake is unfinished.
  bool shaking_hands() const { return tls_ && !tls_->established(); }
  /// Continues without encryption, after a failed handshake.
  void give_up_tls() { tls_.reset(); }
  /// Whether there may be more to read although a read was short or would have blocked.
  bool has_more() const { return tls_ && tls_->has_more(); }
  bool read_awaits_output() const { return tls_ && tls_->read_awaits_output(); }
  bool write_awaits_input() const { return tls_ && tls_->write_awaits_input(); }

 private:
  FileDescriptor fd_;
  std::unique_ptr<TlsStream> tls_;  // Destroyed before the descriptor that it uses.
};

/// A listening socket and the port it has, or an error text.
struct Listening {
  FileDescriptor socket;
  std::uint16_t port = 0;
  std::string error;
};
/// Binds and listens.
Listening listen_on(const std::string& host, std::uint16_t port);

/// Takes ownership of a socket that is already listening, and makes it non-blocking.
Listening adopt(FileDescriptor listening);

/// The next client of a listening socket, with TCP_NODELAY, and its address as text. Without one,
/// `error` is the errno.
struct Accepted {
  FileDescriptor socket;
  std::string peer;
  int error = 0;
};
Accepted accept_from(int listening);

}  // namespace celld::http
