// A client that sends exactly the given bytes, and waits for answers with a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace celld::http::test {

struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers;  ///< Names in lower case.
  std::string body;
};

class Client {
 public:
  explicit Client(std::uint16_t port);
  virtual ~Client();
  Client(Client&& other) noexcept;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Sends all of it; false when the server has gone or reads nothing for half a minute.
  virtual bool send(std::string_view bytes);
  /// Sends what the kernel takes at once; returns the number of bytes.
  std::size_t send_some(std::string_view bytes);
  /// The next answer; nothing when the connection ends first, or no byte arrives for half a
  /// minute.
  /// `head`: the answer is to a HEAD, so it has no body, whatever its length says.
  std::optional<Answer> receive(bool head = false);
  /// The unread bytes, or the next to arrive; empty when none do.
  std::string receive_bytes();
  /// The next chunk of a chunked body; empty when it is the last, nothing when none arrives.
  std::optional<std::string> receive_chunk();
  /// Everything up to the end of the connection; nothing when it ends by a reset or does not end.
  std::optional<std::string> receive_to_end();
  /// Whether the server closes the connection cleanly, without another byte.
  bool ends() { return receive_to_end() == std::string(); }
  bool has_input_within(std::chrono::milliseconds time) const;
  void shut_down_writing();
  /// Closes with a TCP reset.
  void reset();

 protected:
  /// Appends the next bytes to `received_`; false when none arrive.
  virtual bool fill() { return receive_from_socket(received_); }
  bool receive_from_socket(std::string& to);

  std::string received_;

 private:
  /// The next line, without its CR LF.
  std::optional<std::string> receive_line();

  int fd_ = -1;
  bool was_reset_ = false;
};

/// A request with a Host and, unless empty, a body with its length.
std::string request_text(std::string_view method, std::string_view target,
                         std::string_view body = {}, std::string_view headers = {});

}  // namespace celld::http::test
