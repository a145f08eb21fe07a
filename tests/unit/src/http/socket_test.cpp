#include "src/http/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <utility>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/client.hpp"

namespace celld::http {
namespace {

using Outcome = Transfer::Outcome;

/// Both ends of a connection.
std::pair<FileDescriptor, FileDescriptor> connected() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

TEST_CASE("a peer that does not read blocks the writer after the bytes that the kernel took") {
  const auto [ours, theirs] = connected();
  const std::string text(16 << 20, 'x');
  const Transfer sent = send_plain(ours.get(), text);
  CHECK(sent.outcome == Outcome::would_block);
  CHECK(sent.bytes > 0);
  CHECK(sent.bytes < text.size());
  std::string piece(1 << 20, ' ');
  std::size_t received = 0;
  while (received < sent.bytes) {
    const Transfer read = receive_plain(theirs.get(), piece.data(), piece.size());
    REQUIRE(read.outcome == Outcome::done);
    received += read.bytes;
  }
  CHECK(received == sent.bytes);
  CHECK(receive_plain(theirs.get(), piece.data(), piece.size()).outcome == Outcome::would_block);
  const Transfer again = send_plain(ours.get(), "xyz");
  CHECK(again.outcome == Outcome::done);
  CHECK(again.bytes == 3);
}

TEST_CASE("a closed peer ends the reader and fails the writer") {
  auto [ours, theirs] = connected();
  theirs.reset();
  char byte = 0;
  CHECK(receive_plain(ours.get(), &byte, 1).outcome == Outcome::end);
  const Transfer sent = send_plain(ours.get(), "x");
  CHECK(sent.outcome == Outcome::failed);
  CHECK(sent.bytes == 0);
}

TEST_CASE("a peer that closes without reading everything fails the reader") {
  auto [ours, theirs] = connected();
  REQUIRE(send_plain(ours.get(), "x").outcome == Outcome::done);
  theirs.reset();
  char byte = 0;
  const Transfer read = receive_plain(ours.get(), &byte, 1);
  CHECK(read.outcome == Outcome::failed);
  CHECK(read.bytes == 0);
}

TEST_CASE("what is sent to a client does not wait until it has acknowledged what came before") {
  const Listening listening = listen_on("127.0.0.1", 0);
  const test::Client client(listening.port);
  pollfd waiting{listening.socket.get(), POLLIN, 0};
  REQUIRE(::poll(&waiting, 1, 10'000) == 1);
  const Accepted accepted = accept_from(listening.socket.get());
  REQUIRE(accepted.error == 0);
  int no_delay = 0;
  socklen_t size = sizeof no_delay;
  REQUIRE(::getsockopt(accepted.socket.get(), IPPROTO_TCP, TCP_NODELAY, &no_delay, &size) == 0);
  CHECK(no_delay != 0);
}

}  // namespace
}  // namespace celld::http
