// The subset of HTTP/1.1 that the benchmarks use: loopback sockets and messages with a
// Content-Length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace celld::bench {

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }

 private:
  int fd_;
};

/// A blocking connection to a port of 127.0.0.1, without Nagle's delay. Throws.
Descriptor connect_to(std::uint16_t port);

/// Sends all bytes at once. Throws if the socket's buffer has no room for them.
void send_whole(int fd, std::string_view bytes);

/// Views into the reader that produced the message, valid until its next fill().
struct Message {
  std::string_view head;  ///< Start line and headers.
  std::string_view body;

  /// The status of a response; 0 if there is none.
  int status() const;
};

/// Splits the bytes of a connection into messages.
class MessageReader {
 public:
  /// Reads what the socket has; a blocking socket waits for data. False if the peer has closed the
  /// connection or the socket's timeout has passed.
  bool fill(int fd);
  /// The next complete message, if any.
  std::optional<Message> next();

 private:
  std::string received_;
  std::size_t consumed_ = 0;
};

/// The bytes of a request, with a JSON body unless `body` is empty.
std::string request_text(std::string_view method, std::string_view path,
                         std::string_view body = {});

/// A client with one connection, which waits for each answer.
class ApiClient {
 public:
  explicit ApiClient(std::uint16_t port);

  /// The body of the answer. Throws if the status is another.
  nlohmann::json ask(int status, std::string_view method, std::string_view path,
                     std::string_view body = {});

 private:
  Descriptor socket_;
  MessageReader reader_;
};

}  // namespace celld::bench
