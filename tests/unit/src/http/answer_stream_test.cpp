// Streamed answers.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/event_server.hpp"

namespace celld::http::test {
namespace {

using namespace std::string_literals;
TEST_CASE("a stream arrives piece by piece, in order, and its connection stays open") {
  EventServer server;
  auto client = server.connect();
  for (int round = 0; round < 2; ++round) {
    const auto stream = server.begin(client, "X-First: hello\r\n");
    const auto head = client.receive(true);
    REQUIRE(head);
    CHECK(head->status == 200);
    CHECK(head->headers.at("transfer-encoding") == "chunked");
    CHECK(head->headers.at("content-type") == "text/event-stream");
    CHECK(head->headers.at("cache-control") == "no-store");
    CHECK(head->headers.count("content-length") == 0);
    CHECK(head->headers.count("connection") == 0);
    CHECK(client.receive_chunk() == "hello");
    CHECK(stream.connected());
    for (int i = 0; i < 100; ++i) {
      CHECK(stream.write(std::to_string(i)));
      CHECK(client.receive_chunk() == std::to_string(i));
    }
    CHECK(stream.write(""));
    CHECK(stream.write("the last"));
    stream.end();
    stream.end();
    CHECK_FALSE(stream.connected());
    CHECK_FALSE(stream.write("too late"));
    CHECK(client.receive_chunk() == "the last");
    CHECK(client.receive_chunk() == "");
  }
  REQUIRE(client.send(request_text("GET", "/hello")));
  CHECK(client.receive()->body == "hello");
}

TEST_CASE("writes from several threads arrive whole, those of each thread in order") {
  EventServer server;
  auto client = server.connect();
  auto stream = server.begin(client);
  std::vector<std::thread> writers;
  for (char name = 'a'; name < 'e'; ++name) {
    writers.emplace_back([stream, name] {
      for (int i = 0; i < 200; ++i) stream.write(std::string(1, name) + std::to_string(i) + "\n");
    });
  }
  for (auto& writer : writers) writer.join();
  stream = AnswerStream();

  REQUIRE(client.receive(true));
  std::string all;
  for (auto piece = client.receive_chunk(); piece && !piece->empty();
       piece = client.receive_chunk()) {
    all += *piece;
  }
  std::vector<int> next(4);
  std::size_t lines = 0;
  for (std::size_t at = 0; at < all.size(); at = all.find('\n', at) + 1, ++lines) {
    auto& expected = next[static_cast<std::size_t>(all[at] - 'a')];
    REQUIRE(all.substr(at + 1, all.find('\n', at) - at - 1) == std::to_string(expected++));
  }
  CHECK(lines == 800);
}

TEST_CASE("a stream ends with its last copy") {
  EventServer server;
  auto client = server.connect();
  auto stream = server.begin(client);
  auto copy = std::make_unique<AnswerStream>(stream);
  stream = AnswerStream();
  CHECK(copy->write("still there"));
  copy.reset();
  REQUIRE(client.receive(true));
  CHECK(client.receive_chunk() == "still there");
  CHECK(client.receive_chunk() == "");
}

TEST_CASE("a stream without a client accepts no data") {
  const AnswerStream unconnected;
  CHECK_FALSE(unconnected.connected());
  CHECK_FALSE(unconnected.write("a"));
  unconnected.end();
}

TEST_CASE("an HTTP/1.0 client reads its stream until the connection closes") {
  EventServer server;
  auto client = server.connect();
  REQUIRE(client.send("GET /events HTTP/1.0\r\nConnection: keep-alive\r\nX-First: 1\r\n\r\n"));
  const auto stream = server.streams.take();
  REQUIRE(stream);
  CHECK(stream->write("23"));
  stream->end();
  const auto head = client.receive(true);
  REQUIRE(head);
  CHECK(head->headers.at("connection") == "close");
  CHECK(head->headers.count("transfer-encoding") == 0);
  CHECK(client.receive_to_end() == "123");
}

TEST_CASE("HEAD gets the head of a stream, and writes to the stream fail") {
  EventServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("HEAD", "/events", {}, "X-First: hello\r\n")));
  const auto stream = server.streams.take();
  REQUIRE(stream);
  CHECK_FALSE(stream->connected());
  CHECK_FALSE(stream->write("a"));
  CHECK(client.receive(true)->headers.at("transfer-encoding") == "chunked");
  REQUIRE(client.send(request_text("GET", "/hello")));
  CHECK(client.receive()->body == "hello");
}

TEST_CASE("of an answer and a stream for one request, the first counts") {
  RunningServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/parked")));
  const auto parked = server.parked.take();
  REQUIRE(parked);
  const auto stream = parked->begin_stream(events());
  parked->answer(plain(500, "too late"));
  CHECK_FALSE(parked->begin_stream(events()).connected());
  CHECK(stream.write("a"));
  stream.end();
  CHECK(client.receive(true)->status == 200);
  CHECK(client.receive_chunk() == "a");
  CHECK(client.receive_chunk() == "");
}

TEST_CASE("a stream that has been sent to its end cannot be broken off") {
  RunningServer server;
  auto client = server.connect();
  const auto parked = server.park(client);
  const auto stream = parked.begin_stream(events());
  stream.end();
  REQUIRE(eventually([&] { return !parked.connected(); }));
  stream.break_off();
  CHECK(client.receive(true)->status == 200);
  CHECK(client.receive_chunk() == "");
  REQUIRE(client.send(request_text("GET", "/hello")));
  CHECK(client.receive()->body == "hello");
}

TEST_CASE("a heartbeat is sent when nothing else is") {
  EventServer server({}, {":\n\n", milliseconds(20)});
  auto client = server.connect();
  const auto stream = server.begin(client);
  REQUIRE(client.receive(true));
  for (int i = 0; i < 3; ++i) CHECK(client.receive_chunk() == ":\n\n");
  CHECK(stream.write("event"));
  auto piece = client.receive_chunk();
  while (piece == ":\n\n") piece = client.receive_chunk();
  CHECK(piece == "event");
  CHECK(client.receive_chunk() == ":\n\n");
}

/// Whether a stream with this heartbeat interval sends no heartbeat while it is written to for
/// three intervals. The heartbeats of another stream measure the time.
bool sends_no_heartbeat(milliseconds interval) {
  EventServer server({}, {":", interval});
  auto client = server.connect();
  auto other = server.connect();
  const auto stream = server.begin(client);
  server.options.heartbeat_interval = interval / 10;
  const auto beating = server.begin(other);
  if (!client.receive(true) || !other.receive(true)) return false;
  for (int i = 0; i < 30; ++i) {
    if (other.receive_chunk() != ":" || !stream.write("event")) return false;
    if (client.receive_chunk() != "event") return false;
  }
  return true;
}

TEST_CASE("a stream with frequent writes sends no heartbeat") {
  bool is_silent = false;
  // A busy machine may be too slow for one attempt; a longer interval leaves it more time.
  for (const int interval_ms : {50, 500, 5000}) {
    is_silent = is_silent || sends_no_heartbeat(milliseconds(interval_ms));
  }
  CHECK(is_silent);
}

TEST_CASE("neither the idle nor the write timeout closes a stream with nothing to send") {
  Limits limits = with_write_timeout(milliseconds(30));
  limits.idle_timeout = limits.head_timeout = limits.body_timeout = milliseconds(30);
  EventServer server(limits);
  auto client = server.connect();
  const auto stream = server.begin(client);
  REQUIRE(client.receive(true));
  CHECK_FALSE(client.has_input_within(milliseconds(200)));
  CHECK(stream.write("event"));
  CHECK(client.receive_chunk() == "event");
}

/// Whether one of the program's sockets has this TCP_USER_TIMEOUT.
bool has_socket_with_user_timeout(unsigned expected_ms) {
  for (int fd = 0; fd < 1024; ++fd) {
    unsigned ms = 0;
    socklen_t size = sizeof ms;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &size) == 0 && ms == expected_ms)
      return true;
  }
  return false;
}

TEST_CASE("the write timeout is the TCP_USER_TIMEOUT of the connection of a stream") {
  EventServer server(with_write_timeout(milliseconds(12'345)));
  auto client = server.connect();
  CHECK_FALSE(has_socket_with_user_timeout(12'345));
  const auto stream = server.begin(client);
  CHECK(eventually([] { return has_socket_with_user_timeout(12'345); }));
}

TEST_CASE("a reader that catches up in time keeps its stream") {
  Limits limits;
  limits.stream_backlog_bytes_max = 32 << 20;
  EventServer server(limits);
  auto client = server.connect();
  const auto stream = server.begin(client);
  REQUIRE(client.receive(true));
  std::size_t written = 0;
  for (int i = 0; i < 1600; ++i) {
    REQUIRE(stream.write(std::string(10'000, static_cast<char>('a' + i % 26))));
    written += 10'000;
  }
  stream.end();
  std::size_t read = 0;
  bool in_order = true;
  for (auto piece = client.receive_chunk(); piece && !piece->empty();
       piece = client.receive_chunk()) {
    for (const char c : *piece) {
      in_order = in_order && c == static_cast<char>('a' + (read / 10'000) % 26);
      ++read;
    }
  }
  CHECK(in_order);
  CHECK(read == written);
}

TEST_CASE("a client that has closed its sending side still gets its stream") {
  EventServer server;
  auto client = server.connect();
  const auto stream = server.begin(client);
  client.shut_down_writing();
  REQUIRE(client.receive(true));
  for (int i = 0; i < 10; ++i) {
    CHECK(stream.write("event"));
    CHECK(client.receive_chunk() == "event");
  }
  stream.end();
  CHECK(client.receive_chunk() == "");
  CHECK(client.ends());
}

TEST_CASE("the loss of a client is noticed by the next heartbeat at the latest") {
  EventServer server({}, {":", milliseconds(20)});
  const auto begin_and_leave = [&](bool by_reset) {
    auto client = server.connect();
    auto stream = server.begin(client);
    if (by_reset) client.reset();
    return stream;
  };
  const auto reset = begin_and_leave(true);
  const auto closed = begin_and_leave(false);
  CHECK(eventually([&] { return !reset.connected() && !closed.connected(); }));
  CHECK_FALSE(closed.write("too late"));
  CHECK(eventually([&] { return server.server.connections() == 0; }));
}

TEST_CASE("pipelined requests wait for the end of the stream, and take bounded memory") {
  EventServer server;
  auto client = server.connect();
  const auto ahead = request_text("GET", "/events") + request_text("GET", "/hello");
  REQUIRE(client.send(ahead));
  const auto stream = server.streams.take();
  REQUIRE(stream);
  REQUIRE(client.receive(true));
  // The kernel's buffers fill up, because the server does not read.
  std::size_t sent = 0;
  const std::string more(64 << 10, 'x');
  for (auto part = more.size(); part > 0 && sent < (256 << 20); sent += part) {
    part = client.send_some(more);
  }
  CHECK(sent < (256 << 20));
  CHECK(stream->write("event"));
  CHECK(client.receive_chunk() == "event");
  stream->end();
  CHECK(client.receive_chunk() == "");
  CHECK(client.receive()->body == "hello");
}

TEST_CASE("a stop ends streams properly and at once") {
  EventServer server;
  auto client = server.connect();
  const auto stream = server.begin(client);
  REQUIRE(client.receive(true));
  CHECK(stream.write("the last"));
  std::thread stopping([&] { server.server.stop(milliseconds(10'000)); });
  CHECK(client.receive_chunk() == "the last");
  CHECK(client.receive_chunk() == "");
  CHECK(client.ends());
  client.shut_down_writing();
  CHECK_FALSE(stream.connected());
  CHECK_FALSE(stream.write("too late"));
  client.reset();
  stopping.join();
  CHECK(server.server.connections() == 0);
}

/// A stop that has begun: it has closed an idle connection.
std::future<void> begin_stop(TestServer& server) {
  auto idle = server.connect();
  REQUIRE(idle.send(request_text("GET", "/hello")));
  REQUIRE(idle.receive());
  auto stopped = std::async(std::launch::async, [&] { server.server.stop(milliseconds(20'000)); });
  CHECK(idle.ends());
  return stopped;
}

TEST_CASE("a stop leaves a stream that has an end of its own the time to reach it") {
  EventServer server;
  server.options.on_taken = [](std::uint64_t) {};
  auto client = server.connect();
  const auto stream = server.begin(client);
  REQUIRE(client.receive(true));
  const auto stopped = begin_stop(server);
  CHECK(stream.write("the last"));
  stream.end();
  CHECK(client.receive_chunk() == "the last");
  CHECK(client.receive_chunk() == "");
  CHECK(client.ends());
  client.shut_down_writing();
}

TEST_CASE("a stop ends an endless stream, even one that has a callback for what was taken") {
  EventServer server;
  server.options.on_taken = [](std::uint64_t) {};
  server.options.endless = true;
  auto client = server.connect();
  const auto stream = server.begin(client);
  REQUIRE(client.receive(true));
  const auto stopped = begin_stop(server);
  CHECK(client.receive_chunk() == "");
  CHECK_FALSE(stream.connected());
  client.shut_down_writing();
}

TEST_CASE("a stream that begins during a stop ends properly and at once") {
  EventServer server;
  auto client = server.connect();
  const auto parked = server.park(client);
  auto stopped = begin_stop(server);
  const auto stream = parked.begin_stream(events("first"));
  CHECK(client.receive(true)->headers.at("connection") == "close");
  CHECK(client.receive_chunk() == "first");
  CHECK(client.receive_chunk() == "");
  CHECK_FALSE(stream.connected());
  client.shut_down_writing();
  stopped.get();
}

TEST_CASE("a stream outlives its server") {
  AnswerStream stream;
  {
    EventServer server;
    auto client = server.connect();
    stream = server.begin(client);
  }
  CHECK_FALSE(stream.connected());
  CHECK_FALSE(stream.write("too late"));
}

TEST_CASE("one thread serves a thousand streams at once, and each client gets everything") {
  Limits limits;
  limits.threads = 1;
  EventServer server(limits, {":", milliseconds(50)});
  std::vector<Client> clients;
  std::vector<AnswerStream> streams;
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(server.connect());
    streams.push_back(server.begin(clients.back()));
  }
  CHECK(server.server.connections() == 1000);
  int written = 0;
  std::thread([&] {
    for (int i = 0; i < 5; ++i) {
      for (const auto& stream : streams) written += stream.write(std::to_string(i)) ? 1 : 0;
    }
    for (const auto& stream : streams) stream.end();
  }).join();
  CHECK(written == 5000);
  for (auto& client : clients) {
    REQUIRE(client.receive(true));
    std::string all;
    for (auto piece = client.receive_chunk(); piece && !piece->empty();
         piece = client.receive_chunk()) {
      all += *piece;
    }
    all.erase(std::remove(all.begin(), all.end(), ':'), all.end());
    CHECK(all == "01234");
  }
  CHECK(server.ask(request_text("GET", "/hello"))->status == 200);
}

/// A server whose GET /events announces its length and requests each piece.
struct MeasuredServer : EventServer {
  explicit MeasuredServer(std::uint64_t length, Limits limits = {}) : EventServer(limits) {
    options.length = length;
    options.on_taken = [kept = kept_](std::uint64_t bytes) { kept->put(bytes); };
  }

 private:
  /// Shared with `on_taken`, which the server may call until the base class is destroyed.
  const std::shared_ptr<Events<std::uint64_t>> kept_ = std::make_shared<Events<std::uint64_t>>();

 public:
  Events<std::uint64_t>& taken = *kept_;
};

TEST_CASE("an answer of announced length is sent as it is written, and its connection stays open") {
  MeasuredServer server{11};
  auto client = server.connect();
  for (int round = 0; round < 2; ++round) {
    const auto stream = server.begin(client, "X-First: hello\r\n");
    CHECK(stream.write(" world"));
    stream.end();
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->headers.at("content-length") == "11");
    CHECK(answer->headers.count("transfer-encoding") == 0);
    CHECK(answer->headers.count("connection") == 0);
    CHECK(answer->body == "hello world");
  }
}

TEST_CASE("HEAD gets the announced length, and HTTP/1.0 the whole answer") {
  MeasuredServer server{5};
  auto client = server.connect();
  REQUIRE(client.send(request_text("HEAD", "/events")));
  CHECK(client.receive(true)->headers.at("content-length") == "5");
  CHECK_FALSE(server.streams.take()->connected());
  auto old = server.connect();
  REQUIRE(old.send("GET /events HTTP/1.0\r\nX-First: hello\r\n\r\n"));
  server.streams.take()->end();
  const auto all = old.receive_to_end();
  REQUIRE(all);
  CHECK(all->find("Content-Length: 5\r\n") != std::string::npos);
  CHECK(all->substr(all->size() - 9) == "\r\n\r\nhello");
}

TEST_CASE("a stream that ends with less than it announced closes its connection") {
  MeasuredServer server{11};
  auto client = server.connect();
  const auto stream = server.begin(client, "X-First: hello\r\n");
  REQUIRE(client.receive(true));
  stream.end();
  CHECK(client.receive_to_end().value_or("hello") == "hello");
  CHECK_FALSE(stream.connected());
}

TEST_CASE("a stream that ends with more than it announced closes its connection") {
  MeasuredServer server{5};
  auto client = server.connect();
  const auto stream = server.begin(client, "X-First: hello\r\n");
  REQUIRE(client.receive(true));
  stream.write("!");
  stream.end();
  CHECK(eventually([&] { return server.server.connections() == 0; }));
}

TEST_CASE("the next piece is requested once the last was sent, however slow the client is") {
  constexpr std::size_t piece_bytes = 1 << 20;  // More than sockets and the backlog hold.
  constexpr std::uint64_t pieces = 8;
  MeasuredServer server{pieces * piece_bytes};
  auto client = server.connect();
  const auto stream = server.begin(client);
  REQUIRE(client.receive(true));
  auto writer = std::async(std::launch::async, [&] {
    std::uint64_t written = 0;
    for (; written < pieces * piece_bytes; written += piece_bytes) {
      const auto letter = static_cast<char>('a' + written / piece_bytes);
      // Each is requested once: another piece would exceed the backlog.
      if (server.taken.take() != written || !stream.write(std::string(piece_bytes, letter))) break;
    }
    stream.end();
    return written;
  });
  CHECK_FALSE(server.taken.size() > 1);
  // A pipelined request: the connection stays open after the last byte.
  REQUIRE(client.send(request_text("GET", "/hello")));
  std::string all;
  while (all.size() < pieces * piece_bytes) {
    const auto more = client.receive_bytes();
    REQUIRE_FALSE(more.empty());
    all += more;
  }
  CHECK(writer.get() == pieces * piece_bytes);
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    CHECK(all[piece * piece_bytes] == static_cast<char>('a' + piece));
    CHECK(all[(piece + 1) * piece_bytes - 1] == static_cast<char>('a' + piece));
  }
}

TEST_CASE("on_taken is called when the client has gone") {
  MeasuredServer server{1000};
  auto client = server.connect();
  const auto stream = server.begin(client);
  REQUIRE(client.receive(true));
  REQUIRE(server.taken.take() == 0U);
  client.reset();
  CHECK(server.taken.take() == 0U);
  CHECK_FALSE(stream.connected());
}

TEST_CASE("on_taken does not count data that still waited when the client left") {
  constexpr std::size_t piece_bytes = 8 << 20;  // More than sockets hold.
  Limits limits;
  limits.stream_backlog_bytes_max = 2 * piece_bytes;
  limits.unsent_bytes_max = 4 * piece_bytes;
  MeasuredServer server{2 * piece_bytes, limits};
  auto client = server.connect();
  const auto stream = server.begin(client);
  REQUIRE(client.receive(true));
  REQUIRE(server.taken.take() == 0U);
  REQUIRE(stream.write(std::string(piece_bytes, 'a')));
  REQUIRE_FALSE(client.receive_bytes().empty());  // The poller has taken the piece.
  REQUIRE(stream.write("more"));
  client.reset();
  CHECK(server.taken.take() == piece_bytes);
}

TEST_CASE("on_taken is called when the client leaves before the stream begins") {
  Events<std::uint64_t> calls;
  std::promise<void> held;
  std::promise<void> release;
  EventServer server;
  auto gone = server.connect();
  REQUIRE(gone.send(request_text("POST", "/parked")));
  const auto parked = server.parked.take();
  REQUIRE(parked);
  // Another answer holds the poller while the client leaves and its own answer begins.
  server.options.on_taken = [&, first = true](std::uint64_t) mutable {
    if (!std::exchange(first, false)) return;
    held.set_value();
    release.get_future().wait();
  };
  auto other = server.connect();
  const auto holding = server.begin(other);
  held.get_future().wait();
  StreamOptions options;
  options.on_taken = [&](std::uint64_t bytes) { calls.put(bytes); };
  const auto stream = parked->begin_stream(events("first"), options);
  CHECK(stream.connected());
  gone.reset();
  release.set_value();
  CHECK(calls.take() == 5U);
  CHECK_FALSE(stream.connected());
}

}  // namespace
}  // namespace celld::http::test
