// A server that does little at a time still serves everything.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/tls_fixture.hpp"

namespace celld::http::test {
namespace {

Limits three_at_a_time() {
  Limits limits;
  limits.body_backlog_bytes_max = 3;
  limits.turns = {
      .events_max = 3, .accepts_max = 3, .read_bytes_max = 3, .served_max = 3, .body_steps_max = 3};
  return limits;
}

/// Each client sends requests of every kind at once; all are answered, each client's in order.
void serve_all(const std::vector<std::unique_ptr<Client>>& clients) {
  const std::string streamed(1000, 's');
  for (const auto& client : clients) {
    REQUIRE(client->send(request_text("POST", "/echo", "a body of this client's first request") +
                         request_text("GET", "/hello") + request_text("POST", "/count", streamed) +
                         request_text("GET", "/hello") + request_text("POST", "/echo", "last")));
  }
  for (const auto& client : clients) {
    for (const std::string expected :
         {"a body of this client's first request", "hello", "1000", "hello", "last"}) {
      const auto answer = client->receive();
      REQUIRE(answer);
      CHECK(answer->status == 200);
      CHECK(answer->body == expected);
    }
  }
}

void count_bodies(Server& server) {
  server.handle_stream("POST", "/count",
                       [](const Request&, Responder responder, const std::shared_ptr<BodyFlow>&) {
                         return std::make_unique<CountingSink>(std::move(responder));
                       });
}

TEST_CASE("a server that does three things at a time serves all clients") {
  TestServer server{three_at_a_time()};
  count_bodies(server.server);
  server.port = server.server.bind("127.0.0.1", 0).first;
  std::vector<std::unique_ptr<Client>> clients;  // All wait to be accepted when the server starts.
  for (int i = 0; i < 10; ++i) clients.push_back(std::make_unique<Client>(server.port));
  server.server.start();
  serve_all(clients);
}

TEST_CASE("a streamed body whose pieces have waited takes several turns") {
  Limits limits;
  limits.threads = 1;
  limits.turns.read_bytes_max = limits.turns.body_steps_max = 3;
  HoldingServer server{limits};
  count_bodies(server.server);
  server.start();
  auto holder = server.connect();  // Its body is so large that the thread runs the handler.
  REQUIRE(holder.send(request_text("POST", "/hold", std::string(0x8000, 'a'))));
  REQUIRE(server.begun.take());
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/count", std::string(1000, 's'))));
  // The poller reads the body meanwhile.
  const auto other = server.ask(request_text("POST", "/echo", std::string(1500, 'o')));
  REQUIRE(other);
  server.released.put(true);
  CHECK(holder.receive().value().body == "held");
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->body == "1000");
}

TEST_CASE("a client is held back while too much of its streamed body waits for a thread") {
  constexpr std::size_t bytes = 64 << 20;  // More than sockets and the backlog hold.
  Limits limits;
  limits.threads = 1;
  HoldingServer server{limits};
  count_bodies(server.server);
  server.start();
  auto holder = server.connect();
  REQUIRE(holder.send(request_text("POST", "/hold", std::string(0x8000, 'a'))));
  REQUIRE(server.begun.take());
  auto client = server.connect();
  REQUIRE(client.send(
      "POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n"));
  const auto sent = send_until_held_back(server, client, bytes);
  CHECK(sent < bytes);
  server.released.put(true);
  CHECK(holder.receive().value().body == "held");
  REQUIRE(client.send(std::string(bytes - sent, 's')));
  CHECK(client.receive().value().body == std::to_string(bytes));
}

TEST_CASE("a TLS server that does three things at a time serves all clients") {
  const TlsServer server{three_at_a_time()};
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 10; ++i) clients.push_back(server.connect_tls());
  serve_all(clients);
}

}  // namespace
}  // namespace celld::http::test
