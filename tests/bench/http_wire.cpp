#include "tests/bench/http_wire.hpp"

#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace celld::bench {
namespace {

constexpr std::size_t read_bytes = 4 << 10;
constexpr timeval answer_timeout{30, 0};

/// The value of Content-Length, capitalised or in lower case; 0 if absent.
std::size_t content_length(std::string_view head) {
  for (const std::string_view name : {"\r\nContent-Length: ", "\r\ncontent-length: "}) {
    const auto found = head.find(name);
    if (found == std::string_view::npos) continue;
    std::size_t length = 0;
    const char* digits = head.data() + found + name.size();
    std::from_chars(digits, head.data() + head.size(), length);
    return length;
  }
  return 0;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor connect_to(std::uint16_t port) {
  Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (socket.get() < 0 ||
      ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    throw std::system_error(errno, std::generic_category(), "connect");
  }
  return socket;
}

void send_whole(int fd, std::string_view bytes) {
  const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("a message was not sent whole");
  }
}

int Message::status() const {
  constexpr std::size_t after_version = 9;  // "HTTP/1.1 "
  int status = 0;
  if (head.size() > after_version) {
    std::from_chars(head.data() + after_version, head.data() + head.size(), status);
  }
  return status;
}

bool MessageReader::fill(int fd) {
  received_.erase(0, std::exchange(consumed_, 0));
  const std::size_t before = received_.size();
  received_.resize(before + read_bytes);
  const auto count = ::recv(fd, received_.data() + before, read_bytes, 0);
  received_.resize(before + (count > 0 ? static_cast<std::size_t>(count) : 0));
  return count > 0;
}

std::optional<Message> MessageReader::next() {
  constexpr std::string_view end_of_head = "\r\n\r\n";
  const auto rest = std::string_view(received_).substr(consumed_);
  const auto head_size = rest.find(end_of_head);
  if (head_size == std::string_view::npos) return std::nullopt;
  const auto head = rest.substr(0, head_size);
  const auto body_size = content_length(head);
  const auto body_begin = head_size + end_of_head.size();
  if (rest.size() < body_begin + body_size) return std::nullopt;
  consumed_ += body_begin + body_size;
  return Message{head, rest.substr(body_begin, body_size)};
}

std::string request_text(std::string_view method, std::string_view path, std::string_view body) {
  std::string text;
  text.append(method).append(" ").append(path).append(" HTTP/1.1\r\nHost: 127.0.0.1\r\n");
  if (!body.empty()) {
    text.append("Content-Type: application/json\r\nContent-Length: ");
    text.append(std::to_string(body.size())).append("\r\n");
  }
  return text.append("\r\n").append(body);
}

ApiClient::ApiClient(std::uint16_t port) : socket_(connect_to(port)) {
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &answer_timeout, sizeof answer_timeout);
}

nlohmann::json ApiClient::ask(int status, std::string_view method, std::string_view path,
                              std::string_view body) {
  send_whole(socket_.get(), request_text(method, path, body));
  auto answer = reader_.next();
  while (!answer) {
    if (!reader_.fill(socket_.get())) throw std::runtime_error("celld did not answer");
    answer = reader_.next();
  }
  if (answer->status() != status) {
    throw std::runtime_error(std::string(method) + " " + std::string(path) + " answered " +
                             std::string(answer->head) + "\n" + std::string(answer->body));
  }
  return nlohmann::json::parse(answer->body);
}

}  // namespace celld::bench
