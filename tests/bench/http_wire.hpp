// HTTP/1.1 as the benchmarks speak it: sockets on loopback, and messages with a Content-Length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace celld::bench {

/// A descriptor that is closed with its owner.
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

/// Sends all of it on a socket whose buffer has room for it. Throws otherwise.
void send_whole(int fd, std::string_view bytes);

/// Views into the reader that cut it out, good until its next fill().
struct Message {
  std::string_view head;  ///< Start line and headers.
  std::string_view body;

  /// Of an answer.
  int status() const;
};

/// Cuts what a connection brings into messages.
class MessageReader {
 public:
  /// Takes what the socket has; on a blocking socket it waits for something. False: the peer has
  /// closed, or nothing came within the socket's timeout.
  bool fill(int fd);
  /// The next whole message, if it is there.
  std::optional<Message> next();

 private:
  std::string received_;
  std::size_t consumed_ = 0;
};

/// The bytes of a request with a JSON body, or without one.
std::string request_text(std::string_view method, std::string_view path,
                         std::string_view body = {});

/// One connection that waits for each answer.
class ApiClient {
 public:
  explicit ApiClient(std::uint16_t port);

  /// The body of the answer. Throws unless it has that status.
  nlohmann::json ask(int status, std::string_view method, std::string_view path,
                     std::string_view body = {});

 private:
  Descriptor socket_;
  MessageReader reader_;
};

}  // namespace celld::bench
