// The server's end of TLS: what it accepts, and what it refuses.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/machine.hpp"
#include "tests/unit/src/http/tls_fixture.hpp"

namespace celld::http::test {
namespace {

Limits with_head_timeout(milliseconds timeout) {
  Limits limits;
  limits.head_timeout = timeout;
  return limits;
}

/// Whether a connection with this many halves of a ClientHello ends. Checks that it does not end
/// before this head timeout.
bool ends_unfinished_handshake(std::size_t halves, milliseconds head_timeout) {
  const TlsServer server(with_head_timeout(head_timeout));
  const ::test::Stopwatch watch;
  const auto hello = TlsClient(server.port, {}).hello();
  auto client = server.connect();
  if (!client.send(std::string_view(hello).substr(0, halves * hello.size() / 2))) return false;
  const auto received = client.receive_to_end();
  if (!received || received->empty() != (halves < 2)) return false;
  CHECK(watch.elapsed() >= head_timeout);
  return eventually([&] { return server.server.connections() == 0; });
}

/// Whether a connection that was idle for three head timeouts after its handshake still serves
/// requests, and refuses a head that takes longer than its timeout.
bool serves_after_idle_time(milliseconds head_timeout) {
  const TlsServer server(with_head_timeout(head_timeout));
  TlsClient client(server.port, {&server.authority, nullptr, TLS1_2_VERSION, {}, false});
  if (!client.shake_hands()) return false;
  if (client.has_input_within(3 * head_timeout) || !serves(client)) return false;
  if (!client.send("GET /hel")) return false;
  const auto answer = client.receive();
  return answer && answer->status == 408;
}

TEST_CASE("TLS 1.2 and 1.3 are supported") {
  const TlsServer server;
  const auto modern = server.connect_tls();
  CHECK(modern->version() == "TLSv1.3");
  CHECK(modern->peer_name() == "first");
  CHECK(serves(*modern));
  const auto older = server.connect_tls({nullptr, nullptr, TLS1_2_VERSION, {}, false});
  CHECK(older->version() == "TLSv1.2");
  CHECK(serves(*older));
}

TEST_CASE("of TLS 1.2, only ciphers with forward secrecy and authentication are supported") {
  const TlsServer server;
  const auto agrees = [&](const char* ciphers) {
    return TlsClient{
        server.port,
        {.authority = &server.authority, .version_max = TLS1_2_VERSION, .ciphers = ciphers}}
        .shake_hands();
  };
  CHECK(agrees("ECDHE-ECDSA-AES128-GCM-SHA256"));
  CHECK(agrees("ECDHE-ECDSA-CHACHA20-POLY1305"));
  CHECK_FALSE(agrees("ECDHE-ECDSA-AES128-SHA256"));
  CHECK_FALSE(agrees("ECDHE-ECDSA-AES128-SHA"));
}

TEST_CASE("TLS 1.1 is refused with an alert") {
  const TlsServer server;
  TlsClient client(server.port, {nullptr, nullptr, TLS1_1_VERSION, {}, false});
  CHECK_FALSE(client.shake_hands());
  CHECK(client.fault().find("alert protocol version") != std::string::npos);
}

TEST_CASE("HTTP/1.1 is negotiated, and a client that only offers another protocol is refused") {
  const TlsServer server;
  TlsClientOptions both;
  both.protocols = "\x02h2\x08http/1.1";
  CHECK(server.connect_tls(both)->protocol() == "http/1.1");
  TlsClientOptions newer;
  newer.protocols = "\x02h2";
  TlsClient refused(server.port, newer);
  CHECK_FALSE(refused.shake_hands());
  CHECK(refused.fault().find("no application protocol") != std::string::npos);
}

TEST_CASE("a client without TLS gets an answer that says so, and is disconnected") {
  const TlsServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("GET", "/hello")));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 400);
  CHECK(answer->body.find("TLS") != std::string::npos);
  CHECK(answer->headers.at("connection") == "close");
  client.shut_down_writing();
  CHECK(client.ends());
}

TEST_CASE("an unfinished handshake ends at the head timeout") {
  for (const std::size_t halves_of_hello : {0, 1, 2}) {
    INFO(halves_of_hello);
    bool has_ended = false;
    // A busy machine may be too slow for one attempt; a longer timeout leaves it more time.
    for (const int timeout_ms : {100, 1000, 5000}) {
      has_ended = has_ended || ends_unfinished_handshake(halves_of_hello, milliseconds(timeout_ms));
    }
    CHECK(has_ended);
  }
}

TEST_CASE("after its handshake a connection may be idle for longer than the head timeout") {
  bool is_served = false;
  // A busy machine may be too slow for one handshake; a longer timeout leaves it more time.
  for (const int timeout_ms : {100, 1000, 5000}) {
    is_served = is_served || serves_after_idle_time(milliseconds(timeout_ms));
  }
  CHECK(is_served);
}

TEST_CASE("invalid TLS breaks its own connection only") {
  const TlsServer server;
  const auto other = server.connect_tls();
  auto garbage = server.connect();
  REQUIRE(garbage.send("\x16" + std::string(1000, 'x')));
  garbage.shut_down_writing();
  CHECK(garbage.receive_to_end());
  const auto late = server.connect_tls();
  REQUIRE(late->Client::send(std::string(1000, 'x')));
  CHECK(eventually([&] { return server.server.connections() == 1; }));
  CHECK(serves(*other));
}

TEST_CASE("renegotiation is refused") {
  const TlsServer server;
  const auto client = server.connect_tls({nullptr, nullptr, TLS1_2_VERSION, {}, false});
  CHECK(serves(*client));
  REQUIRE(client->asks_to_renegotiate());
  CHECK_FALSE(client->receive());
  CHECK(client->fault().find("no renegotiation") != std::string::npos);
}

TEST_CASE("a client certificate is required, and must be signed by the right CA") {
  const TlsServer server({}, true);
  const auto known = make_identity("known", server.client_authority);
  const auto stranger = make_identity("stranger", server.authority);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    CHECK(serves(*server.connect_tls({nullptr, &known, version, {}, false})));
    for (const auto* identity : {&stranger, static_cast<const Identity*>(nullptr)}) {
      TlsClient client(server.port, {nullptr, identity, version, {}, false});
      // In TLS 1.3 the client finishes its handshake before the server checks the certificate.
      const bool served = client.shake_hands() && serves(client);
      CHECK_FALSE(served);
      CHECK(client.fault().find("alert") != std::string::npos);
    }
  }
}

TEST_CASE("the request for a client certificate names the accepted CAs") {
  const TlsServer server({}, true);
  const auto known = make_identity("known", server.client_authority);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto client = server.connect_tls({nullptr, &known, version, {}, false});
    CHECK(client->requested_authorities() == std::vector<std::string>{"the clients' authority"});
  }
}

TEST_CASE("a reload gives new connections the new certificate, and open ones continue") {
  TlsServer server;
  const auto old = server.connect_tls();
  REQUIRE(old->send(request_text("POST", "/parked")));
  const auto parked = server.parked.take();
  REQUIRE(parked);
  std::thread([&] { server.server.use_tls(loaded(server.settings("second", false))); }).join();
  CHECK(server.connect_tls()->peer_name() == "second");
  parked->answer(plain(200, "still there"));
  CHECK(old->receive()->body == "still there");
  CHECK(serves(*old));
  CHECK(old->peer_name() == "first");
}

TEST_CASE("a client that trusts only the root receives the certificates below it") {
  TlsServer server;
  const auto between = make_intermediate("between", server.authority);
  const auto leaf = make_identity("leaf", between);
  auto settings = server.files.settings_of("leaf", leaf);
  settings.certificate_path = server.files.write_chain("chain.crt", leaf, between);
  server.server.use_tls(loaded(settings));
  CHECK(server.connect_tls()->peer_name() == "leaf");
}

TEST_CASE("clients connect and disconnect while the certificate changes") {
  TlsServer server;
  const auto second = loaded(server.settings("second", false));
  const auto first = loaded(server.settings("first", false));
  auto reloads = std::async(std::launch::async, [&] {
    for (int i = 0; i < 2000; ++i) server.server.use_tls(i % 2 == 0 ? second : first);
  });
  for (int i = 0; i < 20; ++i) CHECK(serves(*server.connect_tls()));
  reloads.get();
}

TEST_CASE("a flood of messages without data does not delay other clients") {
  Limits limits;
  limits.idle_timeout = std::chrono::hours(1);  // Such messages are no request.
  const TlsServer server(limits);
  const auto flooding = server.connect_tls();
  const auto other = server.connect_tls();
  std::atomic<bool> requests_ended{false};
  auto flood = std::async(std::launch::async, [&] {
    for (int i = 0; (i < 20'000 || !requests_ended) && flooding->updates_key(); ++i) {
    }
  });
  const ::test::Stopwatch watch;
  int served = 0;
  while (served < 50 && serves(*other)) ++served;
  const bool in_time = watch.is_within(std::chrono::seconds(5), "fifty requests beside a flood");
  requests_ended = true;
  flood.get();
  CHECK(served == 50);
  CHECK(in_time);
  CHECK(serves(*flooding));
}

}  // namespace
}  // namespace celld::http::test
