// How much of a stream a client may leave unread, and for how long.
#include <cstddef>
#include <string>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/event_server.hpp"

namespace celld::http::test {
namespace {

/// Whether a client receives the whole of a large piece that it reads all the time, but for longer
/// than three of these write timeouts.
bool receives_slowly(milliseconds write_timeout) {
  constexpr std::size_t piece_bytes = 32 << 20;
  Limits limits = with_write_timeout(write_timeout);
  limits.stream_backlog_bytes_max = 2 * piece_bytes;
  EventServer server(limits);
  auto client = server.connect();
  const auto stream = server.begin(client);
  if (!stream.write(std::string(piece_bytes, 'a'))) return false;
  return receive_slowly(client, piece_bytes, write_timeout / 10) >= piece_bytes &&
         stream.connected();
}

TEST_CASE("a slow reader loses its connection and does not fill memory") {
  Limits limits;
  limits.stream_backlog_bytes_max = 64 << 10;
  EventServer server(limits);
  auto client = server.connect();
  const auto stream = server.begin(client);
  const std::string piece(16 << 10, 'a');
  std::size_t taken = 0;
  while (stream.write(piece) && taken < (256 << 20)) taken += piece.size();
  CHECK(taken < (256 << 20));
  CHECK_FALSE(stream.connected());
  CHECK_FALSE(stream.write("a"));
  stream.end();
  CHECK(eventually([&] { return server.server.connections() == 0; }));
  const auto seen = client.receive_to_end();
  CHECK_FALSE((seen && seen->ends_with("\r\n0\r\n\r\n")));
}

TEST_CASE("a piece above the backlog is accepted when nothing else waits, and a second is not") {
  Limits limits;
  limits.stream_backlog_bytes_max = 64 << 10;
  EventServer server(limits);
  auto client = server.connect();
  const auto stream = server.begin(client);
  REQUIRE(client.receive(true));
  const std::string large(32 << 20, 'a');
  CHECK(stream.write(large));
  CHECK_FALSE(stream.write("a"));
  CHECK(eventually([&] { return server.server.connections() == 0; }));
}

TEST_CASE("nothing is sent of what a stream had kept when it kept too much") {
  Limits limits;
  limits.stream_backlog_bytes_max = 4;
  TestServer server(limits);
  Events<bool> kept;
  server.server.handle("GET", "/much", [&](const Request&, const Responder& responder) {
    const auto stream = responder.begin_stream(events());
    // All of it is kept at least until this handler returns.
    for (const auto* piece : {"##", "##", "#"}) kept.put(stream.write(piece));
  });
  server.start();
  auto client = server.connect();
  REQUIRE(client.send(request_text("GET", "/much")));
  const auto received = client.receive_to_end();
  REQUIRE(received);
  for (const bool expected : {true, true, false}) CHECK(kept.take() == expected);
  CHECK(received->find('#') == std::string::npos);
  CHECK_FALSE(received->ends_with("\r\n0\r\n\r\n"));  // The stream is cut off.
}

TEST_CASE("above the bound for unsent data, the connection stalled for the longest is closed") {
  // The sockets of a connection hold up to five megabytes: two answers keep the bound, and three
  // exceed it, even after the reader has taken sixteen.
  constexpr std::size_t answer_bytes = 48 << 20;
  Limits limits;
  limits.unsent_bytes_max = 104 << 20;
  EventServer server(limits);
  auto reader = server.connect();
  const auto read = server.begin(reader);
  CHECK(read.write(std::string(answer_bytes, 'a')));
  auto idler = server.connect();
  const auto ignored = server.begin(idler);
  CHECK(ignored.write(std::string(answer_bytes, 'a')));
  // The server must have begun to send to the idler before the reader's progress is the later one.
  REQUIRE(idler.receive(true));
  REQUIRE(idler.has_input_within(std::chrono::seconds(10)));
  for (std::size_t taken = 0; taken < (16 << 20);) taken += reader.receive_bytes().size();
  auto last = server.connect();
  const auto late = server.begin(last);
  CHECK(late.write(std::string(answer_bytes, 'a')));
  CHECK(eventually([&] { return !ignored.connected(); }));
  CHECK(read.connected());
  CHECK(late.connected());
}

TEST_CASE("what clients that have gone left unread no longer counts as unsent") {
  // Two such answers keep the bound, as above; those of three clients exceed it.
  constexpr std::size_t answer_bytes = 48 << 20;
  Limits limits = with_write_timeout(std::chrono::minutes(2));
  limits.unsent_bytes_max = 104 << 20;
  EventServer server(limits);
  const auto begin_unread = [&](Client& client) {
    auto stream = server.begin(client);
    CHECK(stream.write(std::string(answer_bytes, 'a')));
    REQUIRE(client.receive(true));
    REQUIRE_FALSE(client.receive_bytes().empty());       // The server has begun to send the piece.
    REQUIRE(server.ask(request_text("GET", "/hello")));  // It has counted the bytes left.
    return stream;
  };
  for (int i = 0; i < 3; ++i) {
    auto leaving = server.connect();
    const auto stream = begin_unread(leaving);
    leaving.reset();
    REQUIRE(eventually([&] { return !stream.connected(); }));
  }
  auto one = server.connect();
  const auto first = begin_unread(one);
  auto two = server.connect();
  const auto second = begin_unread(two);
  // By now, the server would have closed a connection above the bound.
  REQUIRE(server.ask(request_text("GET", "/hello")));
  CHECK(first.connected());
  CHECK(second.connected());
}

TEST_CASE("a client that reads nothing for the write timeout is disconnected") {
  Limits limits = with_write_timeout(milliseconds(100));
  limits.stream_backlog_bytes_max = 64 << 20;
  EventServer server(limits);
  auto client = server.connect();
  const auto stream = server.begin(client);
  CHECK(stream.write(std::string(32 << 20, 'a')));
  CHECK(eventually([&] { return !stream.connected(); }));
  CHECK(eventually([&] { return server.server.connections() == 0; }));
}

TEST_CASE("a client may read one piece for longer than the write timeout") {
  bool is_received = false;
  // A busy machine may be too slow for one attempt; a longer timeout leaves it more time.
  for (const int timeout_ms : {300, 1500, 5000}) {
    is_received = is_received || receives_slowly(milliseconds(timeout_ms));
  }
  CHECK(is_received);
}

}  // namespace
}  // namespace celld::http::test
