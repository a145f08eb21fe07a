#include "tests/unit/src/http/client.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <utility>

namespace celld::http::test {
namespace {

constexpr int patience_ms = 30'000;

bool wait_for(int fd, short events) {
  pollfd waiting{fd, events, 0};
  return fd >= 0 && ::poll(&waiting, 1, patience_ms) == 1;
}

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Answer parse_head(std::string_view head) {
  Answer answer;
  answer.status = std::stoi(std::string(head.substr(9, 3)));
  head.remove_prefix(head.find("\r\n") + 2);
  while (!head.empty()) {
    const auto end = head.find("\r\n");
    const auto line = head.substr(0, end);
    const auto colon = line.find(": ");
    answer.headers[lowered(std::string(line.substr(0, colon)))] = line.substr(colon + 2);
    head.remove_prefix(end + 2);
  }
  return answer;
}

}  // namespace

Client::Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd_ < 0) return;
  // The kernel never lets a buffer of a given size grow: Linux may be configured to let the buffer
  // of a fast reader grow to any size, and tests rely on what clients have not read.
  const int buffer_bytes = 128 << 10;
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(std::exchange(fd_, -1));
    return;
  }
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Client::~Client() {
  if (fd_ >= 0) ::close(fd_);
}

Client::Client(Client&& other) noexcept
    : received_(std::move(other.received_)),
      fd_(std::exchange(other.fd_, -1)),
      was_reset_(other.was_reset_) {}

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait_for(fd_, POLLOUT)) return false;
    const auto sent = send_some(bytes);
    if (sent == 0) return false;
    bytes.remove_prefix(sent);
  }
  return true;
}

std::size_t Client::send_some(std::string_view bytes) {
  const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

std::optional<Answer> Client::receive(bool head) {
  std::size_t end = 0;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) return std::nullopt;
  }
  auto answer = parse_head(std::string_view(received_).substr(0, end + 2));
  received_.erase(0, end + 4);
  const auto length = answer.headers.find("content-length");
  if (head || length == answer.headers.end()) return answer;
  const auto size = static_cast<std::size_t>(std::stoul(length->second));
  while (received_.size() < size) {
    if (!fill()) return std::nullopt;
  }
  answer.body = received_.substr(0, size);
  received_.erase(0, size);
  return answer;
}

std::optional<std::string> Client::receive_line() {
  std::size_t end = 0;
  while ((end = received_.find("\r\n")) == std::string::npos) {
    if (!fill()) return std::nullopt;
  }
  auto line = received_.substr(0, end);
  received_.erase(0, end + 2);
  return line;
}

std::string Client::receive_bytes() {
  if (received_.empty() && !fill()) return {};
  return std::exchange(received_, std::string());
}

std::optional<std::string> Client::receive_chunk() {
  const auto line = receive_line();
  if (!line || line->empty()) return std::nullopt;
  const auto size = static_cast<std::size_t>(std::stoul(*line, nullptr, 16));
  while (received_.size() < size) {
    if (!fill()) return std::nullopt;
  }
  auto data = received_.substr(0, size);
  received_.erase(0, size);
  return receive_line() == "" ? std::optional{data} : std::nullopt;
}

std::optional<std::string> Client::receive_to_end() {
  while (fill()) {
  }
  const bool in_order = !was_reset_ && wait_for(fd_, POLLIN);
  return in_order ? std::optional{std::exchange(received_, {})} : std::nullopt;
}

bool Client::has_input_within(std::chrono::milliseconds time) const {
  pollfd waiting{fd_, POLLIN, 0};
  return ::poll(&waiting, 1, static_cast<int>(time.count())) == 1;
}

void Client::shut_down_writing() {
  ::shutdown(fd_, SHUT_WR);
}

void Client::reset() {
  const linger at_once{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(std::exchange(fd_, -1));
}

bool Client::receive_from_socket(std::string& to) {
  std::array<char, 16384> buffer{};
  if (!wait_for(fd_, POLLIN)) return false;
  const auto n = ::recv(fd_, buffer.data(), buffer.size(), 0);
  if (n < 0) was_reset_ = true;
  if (n <= 0) return false;
  to.append(buffer.data(), static_cast<std::size_t>(n));
  return true;
}

std::string request_text(std::string_view method, std::string_view target, std::string_view body,
                         std::string_view headers) {
  std::string text(method);
  text.append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n").append(headers);
  if (!body.empty()) text.append("Content-Length: " + std::to_string(body.size()) + "\r\n");
  return text.append("\r\n").append(body);
}

}  // namespace celld::http::test
