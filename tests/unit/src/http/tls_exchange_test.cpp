// HTTP over TLS behaves as it does without.
#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/tls_fixture.hpp"

namespace celld::http::test {
namespace {

TEST_CASE("an encrypted connection serves sequential and pipelined requests") {
  const TlsServer server;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto client = server.connect_tls({nullptr, nullptr, version, {}, false});
    for (int i = 0; i < 20; ++i) REQUIRE(serves(*client));
    std::string ahead;
    for (int i = 0; i < 200; ++i) ahead += request_text("POST", "/echo", std::to_string(i));
    REQUIRE(client->send(ahead));
    for (int i = 0; i < 200; ++i) {
      const auto answer = client->receive();
      REQUIRE(answer);
      REQUIRE(answer->body == std::to_string(i));
    }
  }
}

TEST_CASE("bodies of a megabyte pass both ways, however they are split into records") {
  const TlsServer server;
  std::string body(1 << 20, 'a');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 26);
  const auto client = server.connect_tls();
  for (const std::size_t part : {std::size_t{1} << 20, std::size_t{1000}, std::size_t{16384}}) {
    std::string_view rest = body;
    REQUIRE(client->send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n"));
    for (; !rest.empty(); rest.remove_prefix(std::min(part, rest.size()))) {
      REQUIRE(client->send(rest.substr(0, part)));
    }
    const auto answer = client->receive();
    REQUIRE(answer);
    CHECK((answer->body == body));
  }
}

TEST_CASE("an answer larger than all buffers arrives whole over TLS") {
  TlsServer server;
  server.large.resize(32 << 20);
  for (std::size_t i = 0; i < server.large.size(); ++i) {
    server.large[i] = static_cast<char>(i * 7 >> 3);
  }
  const auto client = server.connect_tls();
  REQUIRE(client->send(request_text("GET", "/large")));
  const auto answer = client->receive();
  REQUIRE(answer);
  CHECK((answer->body == server.large));
  CHECK(serves(*client));
}

TEST_CASE("a client that sends byte by byte completes its handshake and is served") {
  const TlsServer server;
  const auto client = server.connect_tls({nullptr, nullptr, TLS1_3_VERSION, {}, true});
  for (int i = 0; i < 3; ++i) CHECK(serves(*client));
}

TEST_CASE("an answer may come later, from another thread, over TLS") {
  TlsServer server;
  const auto client = server.connect_tls();
  REQUIRE(client->send(request_text("POST", "/parked", "hello")));
  const auto parked = server.parked.take();
  REQUIRE(parked);
  std::thread([&] { parked->answer(plain(200, std::string(100'000, 'a'))); }).join();
  CHECK(client->receive()->body.size() == 100'000);
  CHECK(serves(*client));
}

TEST_CASE("either side ends a connection with a close_notify") {
  const TlsServer server;
  const auto client = server.connect_tls();
  REQUIRE(client->send(request_text("GET", "/hello", {}, "Connection: close\r\n")));
  CHECK(client->receive()->body == "hello");
  CHECK(client->ends());
  CHECK(client->was_notified());

  const auto leaving = server.connect_tls();
  REQUIRE(leaving->send(request_text("GET", "/hello")));
  leaving->close_notify();
  CHECK(leaving->receive()->body == "hello");
  CHECK(leaving->ends());
  CHECK(leaving->was_notified());
}

TEST_CASE("the server ends an idle connection with a close_notify") {
  Limits limits;
  limits.idle_timeout = milliseconds(100);
  const TlsServer server(limits);
  const auto client = server.connect_tls();
  CHECK(client->ends());
  CHECK(client->was_notified());
}

TEST_CASE("a client that closes its side without close_notify still gets its answer") {
  TlsServer server;
  const auto client = server.connect_tls();
  REQUIRE(client->send(request_text("POST", "/parked")));
  const auto parked = server.parked.take();
  REQUIRE(parked);
  client->shut_down_writing();
  parked->answer(plain(200, "hello"));
  const auto answer = client->receive();
  REQUIRE(answer);
  CHECK(answer->body == "hello");
  CHECK(client->ends());
}

TEST_CASE("a stream works over TLS, with its heartbeats") {
  TlsServer server;
  server.options = {":", milliseconds(20)};
  const auto client = server.connect_tls();
  REQUIRE(client->send(request_text("GET", "/events")));
  const auto stream = server.streams.take();
  REQUIRE(stream);
  REQUIRE(client->receive(true));
  CHECK(client->receive_chunk() == "first");
  CHECK(client->receive_chunk() == ":");
  const std::string large(200'000, 'a');
  CHECK(stream->write(large));
  auto piece = client->receive_chunk();
  while (piece == ":") piece = client->receive_chunk();
  CHECK((piece == large));
  stream->end();
  while ((piece = client->receive_chunk()) == ":") {
  }
  CHECK(piece == "");
  CHECK(serves(*client));
}

TEST_CASE("a slow reader over TLS is disconnected, and the loss of a client is noticed") {
  TlsServer server;
  server.options = {":", milliseconds(20)};
  const auto slow = server.connect_tls();
  REQUIRE(slow->send(request_text("GET", "/events")));
  const auto stream = server.streams.take();
  REQUIRE(stream);
  const std::string piece(16 << 10, 'a');
  std::size_t taken = 0;
  while (stream->write(piece) && taken < (256 << 20)) taken += piece.size();
  CHECK(taken < (256 << 20));
  CHECK(eventually([&] { return server.server.connections() == 0; }));

  auto leaving = server.connect_tls();
  REQUIRE(leaving->send(request_text("GET", "/events")));
  const auto left = server.streams.take();
  REQUIRE(left);
  leaving.reset();
  CHECK(eventually([&] { return !left->connected(); }));
}

TEST_CASE("a stop ends a stream over TLS properly") {
  TlsServer server;
  const auto client = server.connect_tls();
  REQUIRE(client->send(request_text("GET", "/events")));
  REQUIRE(server.streams.take());
  REQUIRE(client->receive(true));
  auto stopped = std::async(std::launch::async, [&] { server.server.stop(milliseconds(10'000)); });
  CHECK(client->receive_chunk() == "first");
  CHECK(client->receive_chunk() == "");
  CHECK(client->ends());
  CHECK(client->was_notified());
  client->shut_down_writing();
  stopped.get();
  CHECK(server.server.connections() == 0);
}

TEST_CASE("an encrypted client above the connection limit gets its 503 too") {
  Limits limits;
  limits.connections_max = 1;
  const TlsServer server(limits);
  const auto served = server.connect_tls();
  CHECK(serves(*served));
  const auto refused = server.connect_tls();
  const auto answer = refused->receive();
  REQUIRE(answer);
  CHECK(answer->status == 503);
  CHECK(answer->headers.count("retry-after") == 1);
  CHECK(refused->ends());
  CHECK(refused->was_notified());
}

TEST_CASE("hundreds of encrypted connections are served at once") {
  Limits limits;
  limits.threads = 1;
  const TlsServer server(limits);
  std::vector<std::unique_ptr<TlsClient>> clients;
  clients.reserve(300);
  for (int i = 0; i < 300; ++i) clients.push_back(server.connect_tls());
  for (const auto& client : clients) REQUIRE(client->send(request_text("GET", "/hello")));
  for (const auto& client : clients) REQUIRE(client->receive()->body == "hello");
}

TEST_CASE("a streamed body of many megabytes arrives over TLS") {
  const TlsServer server;
  const auto client = server.connect_tls();
  REQUIRE(client->send("POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n"));
  for (int i = 0; i < 200; ++i) REQUIRE(client->send(std::string(100'000, 'a')));
  const auto answer = client->receive();
  REQUIRE(answer);
  CHECK(answer->body == "20000000");
  CHECK(serves(*client));
}

}  // namespace
}  // namespace celld::http::test
