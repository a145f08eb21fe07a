#include "tests/bench/peers/text_connection.hpp"

#include <stdexcept>
#include <utility>

#include <sys/socket.h>
#include <sys/time.h>

namespace celld::bench {
namespace {

constexpr std::size_t read_bytes = 4 << 10;
constexpr timeval answer_timeout{30, 0};
constexpr std::string_view end_of_line = "\r\n";

}  // namespace

TextConnection::TextConnection(std::uint16_t port) : socket_(connect_to(port)) {
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &answer_timeout, sizeof answer_timeout);
}

void TextConnection::send(std::string_view bytes) {
  send_whole(socket_.get(), bytes);
}

std::string TextConnection::line() {
  for (;;) {
    const auto end = received_.find(end_of_line, consumed_);
    if (end != std::string::npos) {
      auto text = received_.substr(consumed_, end - consumed_);
      consumed_ = end + end_of_line.size();
      return text;
    }
    fill();
  }
}

std::string TextConnection::block(std::size_t size) {
  while (received_.size() < consumed_ + size + end_of_line.size()) fill();
  auto text = received_.substr(consumed_, size);
  consumed_ += size + end_of_line.size();
  return text;
}

std::string TextConnection::expect(std::string_view beginning) {
  auto text = line();
  if (!text.starts_with(beginning)) {
    throw std::runtime_error("the server answered " + text + " instead of " +
                             std::string(beginning));
  }
  return text;
}

void TextConnection::fill() {
  received_.erase(0, std::exchange(consumed_, 0));
  const auto before = received_.size();
  received_.resize(before + read_bytes);
  const auto count = ::recv(socket_.get(), received_.data() + before, read_bytes, 0);
  if (count <= 0) throw std::runtime_error("the server did not answer");
  received_.resize(before + static_cast<std::size_t>(count));
}

}  // namespace celld::bench
