// Limits on size, number and time.
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "src/http/body_room.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/machine.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::http::test {
namespace {

using namespace std::string_literals;

/// Of the whole process.
std::chrono::nanoseconds processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

Limits short_timeouts() {
  Limits limits;
  limits.head_timeout = limits.body_timeout = limits.idle_timeout = milliseconds(100);
  return limits;
}

/// Whether the server serves a large body that waits `wait`, half of the body timeout, for memory.
/// The client sends the rest once the body timeout has passed since the head. Incomplete requests
/// serve as clocks: each is answered at its timeout.
bool serves_body_that_waits(milliseconds wait) {
  Limits limits;
  limits.head_timeout = wait;
  limits.body_timeout = 2 * wait;
  const RunningServer server(limits);
  const std::string body(1 << 20, 'a');
  const auto request = request_text("POST", "/echo", body);
  const auto begun = request.substr(0, 20'000);  // Enough to need room.
  std::vector<Client> holders;
  for (int i = 0; i < 8; ++i) {
    holders.push_back(server.connect());
    if (!holders.back().send(begun)) return false;
  }
  auto waiting = server.connect();
  if (!waiting.send(begun)) return false;
  auto slow_body = server.connect();
  if (!slow_body.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab"))
    return false;
  auto slow_head = server.connect();
  if (!slow_head.send("GET /hello HT") || !slow_head.receive()) return false;
  holders.clear();
  if (!slow_body.receive()) return false;
  if (!waiting.send(request.substr(begun.size()))) return false;
  const auto answer = waiting.receive();
  return answer && answer->status == 200 && answer->body == body;
}

TEST_CASE("a request target above its limit gets a 414, even if it never ends") {
  const RunningServer server;
  CHECK(server.ask("GET /" + std::string(5000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n")->status ==
        414);
  CHECK(server.ask("GET /" + std::string(5000, 'a'))->status == 414);
  CHECK(
      server.ask("GET /hello?" + std::string(4080, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n")->status ==
      200);
}

/// The status of the answer to a request whose target has this length.
int status_of_target(const std::string& method, std::size_t bytes) {
  std::string target = "/hello?";
  target.resize(bytes, 'a');
  return RunningServer{}.ask(request_text(method, target)).value().status;
}

TEST_CASE("the limit on request targets is exact") {
  CHECK(status_of_target("GET", 4096) == 200);
  CHECK(status_of_target("GET", 4097) == 414);
}

TEST_CASE("the longest method takes nothing of the limit on request targets") {
  CHECK(status_of_target(std::string(32, 'X'), 4096) == 405);
}

TEST_CASE("a path of maximum length is matched") {
  TestServer server;
  server.server.handle("GET", "/long/{}", [](const Request& request, const Responder& responder) {
    responder.answer(plain(200, request.captures[0]));
  });
  server.start();
  const std::string longest(2042, 'a');
  CHECK(server.ask(request_text("GET", "/long/" + longest))->body == longest);
  CHECK(server.ask(request_text("GET", "/long/" + longest + "a"))->status == 404);
}

TEST_CASE("a head above its limits gets a 431, even if it never ends") {
  const RunningServer server;
  const auto start = "GET /hello HTTP/1.1\r\nHost: x\r\n"s;
  CHECK(server.ask(start + "A: " + std::string(20'000, 'a'))->status == 431);
  CHECK(server.ask(start + "A: " + std::string(20'000, 'a') + "\r\n\r\n")->status == 431);
  std::string many = start;
  for (int i = 0; i < 64; ++i) many += "A: b\r\n";
  CHECK(server.ask(many + "\r\n")->status == 431);
  many.resize(many.size() - 6);
  CHECK(server.ask(many + "\r\n")->status == 200);
}

TEST_CASE("the limit on heads is exact") {
  const RunningServer server;
  const auto status = [&](std::size_t head_bytes) {
    std::string head = "GET /hello HTTP/1.1\r\nHost: x\r\nA: ";
    head.resize(head_bytes - 4, 'a');
    return server.ask(head + "\r\n\r\n").value().status;
  };
  CHECK(status(16 << 10) == 200);
  CHECK(status((16 << 10) + 1) == 431);
}

TEST_CASE("a body above its limit gets a 413 that reaches a client that keeps sending") {
  const RunningServer server;
  const std::string body((1 << 20) + 1, 'a');
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/echo", body)));
  CHECK(client.receive()->status == 413);
  CHECK(client.ends());

  auto chunked = server.connect();
  REQUIRE(chunked.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  for (int i = 0; i < 40; ++i) {
    REQUIRE(chunked.send("8000\r\n" + std::string(0x8000, 'a') + "\r\n"));
  }
  CHECK(chunked.receive()->status == 413);
  CHECK(chunked.ends());
}

TEST_CASE("a client that sends for ever after its request was refused is disconnected") {
  const RunningServer server;
  auto client = server.connect();
  REQUIRE(client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n"));
  const std::string piece(1 << 20, 'a');
  int sent = 0;
  while (sent < 128 && client.send(piece)) ++sent;
  CHECK(sent >= 32);
  CHECK(sent < 128);
}

TEST_CASE("a client that stays connected in silence after a refusal is disconnected") {
  const RunningServer server;
  auto client = server.connect();
  REQUIRE(client.send("nonsense\r\n\r\n"));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 400);
  CHECK(eventually([&] { return server.server.connections() == 0; }));
}

TEST_CASE("a client that comes while there is no descriptor at all waits, and is served later") {
  const RunningServer server;
  auto other = server.connect();
  const std::string request = request_text("GET", "/hello");
  REQUIRE(other.send(request));
  REQUIRE(other.receive());  // The server has accepted this client.
  const int late = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{1, before.rlim_max};  // poll() takes no more descriptors than the limit.
  ::setrlimit(RLIMIT_NOFILE, &none);
  const bool connected =
      ::connect(late, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  // By the second answer, the server has seen the client.
  const bool served =
      other.send(request) && other.receive() && other.send(request) && other.receive();
  const auto cpu_before = processor_time();
  const bool quiet = !other.has_input_within(milliseconds(400));
  const auto cpu = processor_time() - cpu_before;
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(connected);
  CHECK(served);
  CHECK(quiet);
  CHECK(cpu < milliseconds(200));
  CHECK(::send(late, request.data(), request.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(request.size()));
  const timeval patience{20, 0};
  ::setsockopt(late, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::array<char, 16> answer{};
  CHECK(::recv(late, answer.data(), answer.size(), 0) > 0);
  ::close(late);
  // After the shortage, an idle server sleeps again.
  const auto cpu_before_idling = processor_time();
  CHECK_FALSE(other.has_input_within(milliseconds(400)));
  CHECK(processor_time() - cpu_before_idling < milliseconds(200));
}

TEST_CASE("a body of exactly the limit is accepted") {
  const RunningServer server;
  const std::string body(1 << 20, 'a');
  CHECK((server.ask(request_text("POST", "/echo", body))->body == body));
}

TEST_CASE("a body in chunks that has exactly the limit is accepted") {
  const RunningServer server;
  const std::string half(1 << 19, 'a');
  const auto answer =
      server.ask("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n80000\r\n" +
                 half + "\r\n80000\r\n" + half + "\r\n0\r\n\r\n");
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK((answer->body == half + half));
}

TEST_CASE("a slow head and a slow body get a 408") {
  const RunningServer server(short_timeouts());
  CHECK(server.ask("GET /hello HT")->status == 408);
  CHECK(server.ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")->status == 408);
}

TEST_CASE("sending byte by byte does not extend the head timeout") {
  const RunningServer server(short_timeouts());
  auto client = server.connect();
  REQUIRE(client.send("GET /hello HTTP/1.1\r\nA: "));
  // Each byte arrives long before a timeout counted from the last one.
  int bytes = 0;
  while (bytes < 500 && !client.has_input_within(milliseconds(20))) {
    client.send_some("a");
    ++bytes;
  }
  CHECK(bytes < 500);
  CHECK(client.receive()->status == 408);
}

TEST_CASE("an idle connection is closed without an answer") {
  const RunningServer server(short_timeouts());
  auto fresh = server.connect();
  CHECK(fresh.ends());
  auto used = server.connect();
  REQUIRE(used.send(request_text("GET", "/hello")));
  CHECK(used.receive()->status == 200);
  CHECK(used.ends());
}

TEST_CASE("an empty line after an answer does not begin a request") {
  const RunningServer server(short_timeouts());
  auto client = server.connect();
  REQUIRE(client.send(request_text("GET", "/hello")));
  CHECK(client.receive()->status == 200);
  REQUIRE(client.send("\r\n"));
  CHECK(client.ends());
}

TEST_CASE("an answer that the client does not read closes the connection") {
  Limits limits;
  limits.write_timeout = milliseconds(100);
  TestServer server(limits);
  server.server.handle("GET", "/large", [](const Request&, const Responder& responder) {
    responder.answer(plain(200, std::string(32 << 20, 'a')));
  });
  server.start();
  auto client = server.connect();
  REQUIRE(client.send(request_text("GET", "/large")));
  CHECK(eventually([&] { return server.server.connections() == 1; }));
  CHECK(eventually([&] { return server.server.connections() == 0; }));
}

TEST_CASE("reading all the time does not extend the write timeout of an answer") {
  constexpr std::size_t answer_bytes = 32 << 20;
  Limits limits;
  limits.write_timeout = milliseconds(300);
  TestServer server(limits);
  server.server.handle("GET", "/large", [](const Request&, const Responder& responder) {
    responder.answer(plain(200, std::string(answer_bytes, 'a')));
  });
  server.start();
  auto client = server.connect();
  REQUIRE(client.send(request_text("GET", "/large")));
  // All of it would take three timeouts.
  CHECK(receive_slowly(client, answer_bytes, limits.write_timeout / 10) < answer_bytes);
  CHECK(eventually([&] { return server.server.connections() == 0; }));
}

TEST_CASE("a client above the connection limit gets a 503 with Retry-After") {
  Limits limits;
  limits.connections_max = 3;
  const RunningServer server(limits);
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(server.connect());
    REQUIRE(clients.back().send(request_text("GET", "/hello")));
    REQUIRE(clients.back().receive()->status == 200);
  }
  auto refused = server.connect();
  REQUIRE(refused.send(request_text("POST", "/echo", "hello")));
  const auto answer = refused.receive();
  REQUIRE(answer);
  CHECK(answer->status == 503);
  CHECK(answer->headers.count("retry-after") == 1);
  refused.shut_down_writing();
  CHECK(refused.ends());

  clients.pop_back();
  CHECK(eventually([&] { return server.server.connections() == 2; }));
  CHECK(server.ask(request_text("GET", "/hello"))->status == 200);
}

TEST_CASE("the connections that get a 503 have a limit too, and others end without an answer") {
  Limits limits;
  limits.connections_max = 8;  // An eighth of this and 8 may be refused at a time.
  TestServer server(limits);
  Events<bool> begun;
  std::promise<void> connected;
  server.server.handle(
      "GET", "/wait",
      [&, all = connected.get_future().share()](const Request&, const Responder& responder) {
        begun.put(true);
        all.wait();  // Holds the poller, which then accepts all others at once.
        responder.answer(plain(200, "waited"));
      });
  server.start();
  std::vector<Client> idle;
  for (int i = 0; i < 7; ++i) idle.push_back(server.connect());
  auto served = server.connect();
  REQUIRE(served.send(request_text("GET", "/wait")));
  REQUIRE(begun.take());
  std::vector<Client> refused;
  for (int i = 0; i < 10; ++i) refused.push_back(server.connect());
  connected.set_value();
  CHECK(refused.back().ends());
  refused.pop_back();
  for (auto& client : refused) CHECK(client.receive().value().status == 503);
  CHECK(served.receive()->body == "waited");
}

TEST_CASE("a client that was refused takes no place while its connection is still open") {
  Limits limits;
  limits.connections_max = 1;
  RunningServer server(limits);
  auto served = server.connect();
  const auto parked = server.park(served);
  auto refused = server.connect();
  REQUIRE(refused.receive().value().status == 503);
  served.reset();
  REQUIRE(eventually([&] { return !parked.connected(); }));
  CHECK(server.ask(request_text("GET", "/hello"))->status == 200);
}

TEST_CASE("a large body that keeps no others waiting is not given up") {
  Limits limits;
  limits.body_timeout = std::chrono::minutes(2);
  const RunningServer server(limits);
  const std::string body(1 << 20, 'a');
  const auto request = request_text("POST", "/echo", body);
  auto client = server.connect();
  REQUIRE(client.send(request.substr(0, 100'000)));  // Enough to need room.
  CHECK_FALSE(client.has_input_within(BodyRoom::patience + milliseconds(200)));
  REQUIRE(client.send(request.substr(100'000)));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK((answer->body == body));
}

TEST_CASE("a large body that keeps others waiting is given up, and small bodies never wait") {
  Limits limits;
  limits.body_timeout = std::chrono::minutes(2);  // Only its patience makes the server give up.
  const RunningServer server(limits);
  const std::string body(1 << 20, 'a');
  const std::string head =
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n\r\n";
  std::vector<Client> holders;
  for (int i = 0; i < 8; ++i) {
    holders.push_back(server.connect());
    REQUIRE(holders.back().send(head + body.substr(0, 100'000)));
  }
  auto drip = server.connect();
  REQUIRE(drip.send(head + "a"));
  auto waiting = server.connect();
  REQUIRE(waiting.send(head + body));
  CHECK(server.ask(request_text("POST", "/echo", "small"))->body == "small");
  CHECK((waiting.receive()->body == body));
  CHECK(holders[0].receive()->status == 408);
  CHECK(drip.send(body.substr(1)));
  CHECK((drip.receive()->body == body));
}

TEST_CASE("only as many large bodies are given up as another needs") {
  Limits limits;
  limits.body_timeout = std::chrono::minutes(2);
  const RunningServer server(limits);
  const std::string body(1 << 20, 'a');
  const auto request = request_text("POST", "/echo", body);
  std::vector<Client> holders;
  for (int i = 0; i < 4; ++i) {
    holders.push_back(server.connect());
    REQUIRE(holders.back().send(request.substr(0, 100'000)));
  }
  REQUIRE(server.ask(request_text("GET", "/hello")));  // By now they have all the memory.
  auto waiting = server.connect();
  REQUIRE(waiting.send(request));
  CHECK((waiting.receive()->body == body));
  CHECK(holders[0].receive()->status == 408);
  for (int i = 1; i < 4; ++i) {
    REQUIRE(holders[i].send(request.substr(100'000)));
    CHECK((holders[i].receive()->body == body));
  }
}

TEST_CASE("a large body that waited for memory has the whole body timeout from then on") {
  bool is_served = false;
  // A busy machine may be too slow for one attempt; a longer wait leaves it more time. The wait
  // must be shorter than twice BodyRoom::patience, because then the second four holders are
  // refused.
  for (const int wait_ms : {250, 1800, 1800, 1800}) {
    is_served = is_served || serves_body_that_waits(milliseconds(wait_ms));
  }
  CHECK(is_served);
}

TEST_CASE("a large body that gets no memory within the body timeout gets a 503 with Retry-After") {
  Limits limits;
  limits.body_bytes_max = 2 << 20;  // The least memory is that of two bodies of this size.
  limits.body_timeout = milliseconds(1000);
  limits.threads = 2;  // The handlers of both holders run at the same time.
  HoldingServer server(limits);
  server.start();
  // While its handler runs, each holds memory for a body of the largest size, even if its
  // connection has had another large body before. The server runs the handler of a smaller body on
  // its own thread.
  std::vector<Client> holders;
  for (int i = 0; i < 2; ++i) {
    holders.push_back(server.connect());
    REQUIRE(holders.back().send(request_text("POST", "/echo", std::string(0x8000, 'a'))));
    REQUIRE(holders.back().receive().value().status == 200);
    REQUIRE(
        holders.back().send("POST /hold HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "8000\r\n" +
                            std::string(0x8000, 'a') + "\r\n0\r\n\r\n"));
    REQUIRE(server.begun.take());
  }
  const auto answer = server.ask(request_text("POST", "/echo", std::string(0x8000, 'a')));
  REQUIRE(answer);
  CHECK(answer->status == 503);
  CHECK(answer->headers.count("retry-after") == 1);
  // Either handler may take either value.
  for (std::size_t i = 0; i < holders.size(); ++i) server.released.put(true);
  for (auto& holder : holders) CHECK(holder.receive().value().status == 200);
}

TEST_CASE("there is memory for two bodies of the largest size") {
  constexpr std::size_t largest = 6 << 20;
  Limits limits;
  limits.body_bytes_max = largest;
  HoldingServer server(limits);
  server.start();
  auto holder = server.connect();
  REQUIRE(holder.send(request_text("POST", "/hold", std::string(largest, 'a'))));
  REQUIRE(server.begun.take());
  const auto answer = server.ask(request_text("POST", "/echo", std::string(largest, 'b')));
  server.released.put(true);
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(holder.receive().value().status == 200);
}

TEST_CASE("a body that would find memory waits behind a larger one that came first") {
  Limits limits;
  limits.body_bytes_max = 2 << 20;  // The memory is that of two bodies of this size.
  limits.body_timeout = std::chrono::minutes(2);
  limits.threads = 3;  // One is free while the handlers of both holders run.
  HoldingServer server(limits);
  server.start();
  std::vector<Client> holders;
  for (const std::size_t bytes : {2'000'000, 1'500'000}) {
    holders.push_back(server.connect());
    REQUIRE(holders.back().send(request_text("POST", "/hold", std::string(bytes, 'a'))));
    REQUIRE(server.begun.take());
  }
  auto large = server.connect();
  const auto request = request_text("POST", "/echo", std::string(1'500'000, 'b'));
  REQUIRE(large.send(request.substr(0, 20'000)));  // Enough to need room.
  // By the second answer, the poller has read it.
  for (int i = 0; i < 2; ++i) REQUIRE(server.ask(request_text("GET", "/hello")));
  auto small = server.connect();
  REQUIRE(small.send(request_text("POST", "/echo", std::string(0x8000, 'c'))));
  CHECK_FALSE(small.has_input_within(milliseconds(300)));
  for (std::size_t i = 0; i < holders.size(); ++i) server.released.put(true);
  REQUIRE(large.send(request.substr(20'000)));
  CHECK(large.receive().value().status == 200);
  CHECK(small.receive().value().status == 200);
  for (auto& holder : holders) CHECK(holder.receive().value().status == 200);
}

TEST_CASE("many large bodies at once are all served") {
  const RunningServer server;
  const std::string body(1 << 20, 'b');
  std::vector<Client> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(server.connect());
  std::vector<std::thread> senders;
  std::atomic<int> served{0};
  for (auto& client : clients) {
    senders.emplace_back([&] {
      if (!client.send(request_text("POST", "/echo", body))) return;
      const auto answer = client.receive();
      if (answer && answer->body == body) ++served;
    });
  }
  for (auto& sender : senders) sender.join();
  CHECK(served == 40);
}

TEST_CASE("slow clients do not delay others") {
  const RunningServer server;
  std::vector<Client> slow;
  for (int i = 0; i < 64; ++i) {
    slow.push_back(server.connect());
    REQUIRE(slow.back().send(i % 2 == 0 ? "GET /hello HTTP/1.1\r\nHo"
                                        : "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9"
                                          "\r\n\r\nabc"));
  }
  const ::test::Stopwatch watch;
  for (int i = 0; i < 10; ++i) {
    CHECK(server.ask(request_text("GET", "/hello"))->status == 200);
  }
  CHECK(watch.is_within(std::chrono::seconds(2), "ten requests beside slow clients"));
}

}  // namespace
}  // namespace celld::http::test
