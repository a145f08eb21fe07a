// A server on raw sockets that answers calls as badly as a test asks it to.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace celld::test {

using std::chrono::milliseconds;

/// A request as received: the head with its line ends, and the body.
struct SentRequest {
  std::string head;
  std::string body;

  /// The value of the header `name`; empty when there is none.
  std::string header(std::string_view name) const;
};

/// One accepted connection. Every wait ends when the server stops, or after ten seconds.
class Connection {
 public:
  Connection(int fd, int stop_fd) : fd_(fd), stop_fd_(stop_fd) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// The next whole request; nothing when the peer closed, or the server stops.
  std::optional<SentRequest> read_request();
  /// Discards data until the peer closes, for at most `limit`; true when it has closed.
  bool wait_closed(milliseconds limit);
  /// False when the peer is gone.
  bool send(std::string_view data);
  /// Sends `data` over and over until the peer is gone, for at most `bytes_max` bytes.
  void flood(std::string_view data, std::size_t bytes_max);
  /// Sends byte after byte, with a pause before each.
  void drip(std::string_view data, milliseconds pause);
  void close();
  /// Closes with a TCP reset.
  void reset();
  /// A blocking socket, which the connection keeps.
  int socket() const { return fd_; }

 private:
  bool wait(short events, milliseconds limit) const;

  int fd_;
  int stop_fd_;
  std::string buffer_;
};

/// An answer with the right length.
std::string http_answer(std::string_view status, std::string_view body,
                        std::string_view more_headers = "");

/// Listens on a free loopback port; each connection gets a thread that runs the script and then
/// closes it.
class MisbehavingProvider {
 public:
  using Script = std::function<void(Connection&)>;
  explicit MisbehavingProvider(Script script);
  ~MisbehavingProvider();

  std::string url(std::string_view scheme = "http") const;
  std::uint16_t port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void accept_all();

  Script script_;
  int listen_fd_;
  int stop_fd_;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::vector<std::thread> scripts_;  ///< For accept_all() only.
  std::thread acceptor_;
};

/// A loopback port without a listener.
std::uint16_t unused_port();

}  // namespace celld::test
