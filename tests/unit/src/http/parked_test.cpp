// Answers that are given later, and servers that stop.
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "src/http/handler_pool.hpp"
#include "src/http/socket.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/machine.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::http::test {
namespace {

/// A listening socket that outlives the servers that use it one after another.
class SharedSocket {
 public:
  SharedSocket() : listening_(listen_on("127.0.0.1", 0)) {}
  int duplicate() const { return ::dup(listening_.socket.get()); }
  std::uint16_t port() const { return listening_.port; }

 private:
  Listening listening_;
};

/// Whether a connection ends after another thread has written its answer. Checks that it does not
/// end before this idle timeout.
bool ends_after_later_answer(milliseconds idle_timeout) {
  Limits limits;
  limits.idle_timeout = idle_timeout;
  RunningServer server(limits);
  const ::test::Stopwatch watch;
  auto client = server.connect();
  if (!client.send(request_text("POST", "/parked"))) return false;
  const auto parked = server.parked.take();
  if (!parked) return false;
  parked->answer(plain(202, "later"));  // No other event wakes the poller.
  const auto answer = client.receive();
  if (!answer || answer->body != "later" || !client.ends()) return false;
  CHECK(watch.elapsed() >= idle_timeout);
  return true;
}

/// The answer to a request that a server has not read when it stops. The refusal of another client
/// keeps the poller busy until the request has arrived and this time has passed, in which the stop
/// should begin.
std::optional<Answer> answer_of_stopping_server(milliseconds time) {
  Events<int> begun;
  Events<int> go_on;
  Server server({}, [&](int status, std::string detail, const std::string&) {
    begun.put(status);
    go_on.take();
    return plain(status, std::move(detail));
  });
  server.handle("GET", "/hello", [](const Request&, const Responder& responder) {
    responder.answer(plain(200, "hello"));
  });
  const auto port = server.bind("127.0.0.1", 0).first;
  server.start();
  Client asking(port);
  REQUIRE(asking.send(request_text("GET", "/hello")));
  REQUIRE(asking.receive());
  Client refused(port);
  REQUIRE(refused.send("nonsense\r\n\r\n"));
  REQUIRE(begun.take());
  auto stopped = std::async(std::launch::async, [&] { server.stop(milliseconds(10'000)); });
  REQUIRE(asking.send(request_text("GET", "/hello")));
  CHECK_FALSE(server.responds(time));
  go_on.put(0);
  auto answer = asking.receive();
  refused.shut_down_writing();
  asking.shut_down_writing();
  stopped.get();
  return answer;
}

TEST_CASE("an answer may come later, from another thread") {
  RunningServer server;
  auto client = server.connect();
  for (int i = 0; i < 3; ++i) {
    REQUIRE(client.send(request_text("POST", "/parked", "x")));
    const auto parked = server.parked.take();
    REQUIRE(parked);
    CHECK(parked->connected());
    std::thread([&] { parked->answer(plain(202, "later")); }).join();
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->status == 202);
    CHECK(answer->body == "later");
  }
}

TEST_CASE("the thread that answers writes, and the connection still ends when it is idle") {
  bool ends = false;
  // A busy machine may be too slow for one attempt; a longer timeout leaves it more time.
  for (const int timeout_ms : {50, 500, 5000}) {
    ends = ends || ends_after_later_answer(milliseconds(timeout_ms));
  }
  CHECK(ends);
}

TEST_CASE("a request that arrived before the answer to the previous one is served after it") {
  RunningServer server;
  auto client = server.connect();
  const auto hello = request_text("GET", "/hello");
  for (const bool together : {true, false}) {
    REQUIRE(client.send(request_text("POST", "/parked") + (together ? hello : "")));
    const auto parked = server.parked.take();
    REQUIRE(parked);
    if (!together) REQUIRE(client.send(hello));
    parked->answer(plain(202, "later"));
    CHECK(client.receive()->body == "later");
    CHECK(client.receive()->body == "hello");
  }
}

TEST_CASE(
    "a request that arrived before the answer to the previous one is served at once after it") {
  RunningServer server;
  auto client = server.connect();
  const ::test::Stopwatch watch;
  for (int i = 0; i < 50; ++i) {
    REQUIRE(client.send(request_text("POST", "/parked") + request_text("GET", "/hello")));
    const auto parked = server.parked.take();
    REQUIRE(parked);
    CHECK_FALSE(client.has_input_within(milliseconds(1)));  // By now, the poller sleeps.
    parked->answer(plain(202, "later"));
    CHECK(client.receive()->body == "later");
    CHECK(client.receive()->body == "hello");
  }
  CHECK(watch.is_within(std::chrono::seconds(1), "fifty requests that had already arrived"));
}

TEST_CASE("a client that has closed its sending side gets a later answer, and then the end") {
  RunningServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/parked")));
  const auto parked = server.parked.take();
  REQUIRE(parked);
  client.shut_down_writing();
  parked->answer(plain(202, "later"));
  CHECK(client.receive()->body == "later");
  CHECK(client.ends());
}

TEST_CASE("handlers of small requests run on the poller's thread, those of large bodies do not") {
  TestServer server;
  Events<bool> on_handler_thread;
  server.server.handle("POST", "/where", [&](const Request&, const Responder& responder) {
    on_handler_thread.put(HandlerPool::on_handler_thread());
    responder.answer(plain(200, "here"));
  });
  server.start();
  CHECK(server.ask(request_text("POST", "/where", std::string(16 << 10, 'x')))->body == "here");
  CHECK(on_handler_thread.take() == false);
  CHECK(server.ask(request_text("POST", "/where", std::string(17 << 10, 'x')))->body == "here");
  CHECK(on_handler_thread.take() == true);
  server.server.stop(milliseconds(0));
}

TEST_CASE("only the first answer counts") {
  RunningServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/parked")));
  const auto parked = server.parked.take();
  REQUIRE(parked);
  parked->answer(plain(200, "first"));
  parked->answer(plain(200, "second"));
  CHECK(client.receive()->body == "first");
  REQUIRE(client.send(request_text("GET", "/hello")));
  CHECK(client.receive()->body == "hello");
  parked->answer(plain(200, "third"));
  CHECK_FALSE(parked->connected());
  REQUIRE(client.send(request_text("GET", "/hello")));
  CHECK(client.receive()->body == "hello");
}

TEST_CASE("a request whose last Responder is destroyed gets a 500") {
  RunningServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/parked")));
  {
    const auto parked = server.parked.take();
    REQUIRE(parked);
    const auto copy = *parked;
    CHECK(copy.connected());
  }
  CHECK(client.receive()->status == 500);
  REQUIRE(client.send(request_text("GET", "/hello")));
  CHECK(client.receive()->status == 200);
}

TEST_CASE("one thread suffices while a thousand requests are parked") {
  Limits limits;
  limits.threads = 1;
  RunningServer server(limits);
  std::vector<Client> clients;
  std::vector<Responder> parked;
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(server.connect());
    REQUIRE(clients.back().send(request_text("POST", "/parked", std::to_string(i))));
    auto responder = server.parked.take();
    REQUIRE(responder);
    parked.push_back(std::move(*responder));
  }
  CHECK(server.server.connections() == 1000);
  CHECK(server.ask(request_text("GET", "/hello"))->status == 200);

  std::thread([&] {
    for (std::size_t i = parked.size(); i-- > 0;) parked[i].answer(plain(200, std::to_string(i)));
  }).join();
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const auto answer = clients[i].receive();
    REQUIRE(answer);
    CHECK(answer->body == std::to_string(i));
  }
}

TEST_CASE("a reset by the client is noticed") {
  RunningServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/parked")));
  const auto parked = server.parked.take();
  REQUIRE(parked);
  CHECK(parked->connected());
  client.reset();
  CHECK(eventually([&] { return !parked->connected(); }));
  CHECK(eventually([&] { return server.server.connections() == 0; }));
  parked->answer(plain(200, "too late"));
}

TEST_CASE("a stop waits for pending answers, and closes idle connections") {
  RunningServer server;
  auto idle = server.connect();
  REQUIRE(idle.send(request_text("GET", "/hello")));
  REQUIRE(idle.receive());
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/parked")));
  const auto parked = server.parked.take();
  REQUIRE(parked);

  auto stopped = std::async(std::launch::async, [&] { server.server.stop(milliseconds(10'000)); });
  CHECK(idle.ends());
  CHECK(parked->connected());
  parked->answer(plain(200, "the last"));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->body == "the last");
  CHECK(answer->headers.at("connection") == "close");
  client.shut_down_writing();
  stopped.get();
  CHECK(server.server.connections() == 0);
  auto late = server.connect();
  CHECK_FALSE(late.send("GET"));
}

TEST_CASE("a stop closes a connection whose answer began before it, once the answer is sent") {
  constexpr std::size_t answer_bytes = 16 << 20;
  Limits limits;
  limits.idle_timeout = std::chrono::minutes(10);  // This closes no connection here.
  TestServer server(limits);
  server.server.handle("GET", "/large", [](const Request&, const Responder& responder) {
    responder.answer(plain(200, std::string(answer_bytes, 'a')));
  });
  server.start();
  auto idle = server.connect();
  REQUIRE(idle.send(request_text("GET", "/hello")));
  REQUIRE(idle.receive());
  auto client = server.connect();
  REQUIRE(client.send(request_text("GET", "/large")));
  REQUIRE(client.has_input_within(std::chrono::seconds(30)));

  auto stopped =
      std::async(std::launch::async, [&] { server.server.stop(std::chrono::minutes(2)); });
  CHECK(idle.ends());
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->headers.count("connection") == 0);
  CHECK(answer->body.size() == answer_bytes);
  CHECK(client.ends());
  client.reset();
  stopped.get();
}

TEST_CASE("a stop without connections ends at once, and leaves no listening socket") {
  RunningServer server;
  server.server.stop(std::chrono::hours(1));
  auto late = server.connect();
  CHECK_FALSE(late.send("GET"));
}

TEST_CASE("a stop gives up on answers after its grace") {
  std::optional<Responder> parked;
  {
    RunningServer server;
    auto client = server.connect();
    REQUIRE(client.send(request_text("POST", "/parked")));
    parked = server.parked.take();
    REQUIRE(parked);
    server.server.stop(milliseconds(50));
    CHECK_FALSE(parked->connected());
    CHECK(server.server.connections() == 0);
    server.server.stop(milliseconds(50));
    CHECK(client.ends());
  }
  parked->answer(plain(200, "too late"));
}

TEST_CASE("a hand-over serves open connections once more, and leaves new ones to the next server") {
  SharedSocket shared;
  TestServer server;
  CHECK(server.server.adopt(shared.duplicate()).first == shared.port());
  server.port = shared.port();
  server.server.start();
  auto active = server.connect();
  auto idle = server.connect();
  auto waiting = server.connect();
  for (auto* client : {&active, &idle}) {
    REQUIRE(client->send(request_text("GET", "/hello")));
    CHECK(client->receive()->headers.count("connection") == 0);
  }
  REQUIRE(waiting.send(request_text("POST", "/parked")));
  const auto parked = server.parked.take();
  REQUIRE(parked);

  auto handed_over =
      std::async(std::launch::async, [&] { server.server.hand_over(milliseconds(2000)); });
  // The hand-over begins at some time during this loop.
  std::optional<Answer> last;
  do {
    REQUIRE(active.send(request_text("POST", "/echo", "once more")));
    last = active.receive();
    REQUIRE(last);
    CHECK(last->body == "once more");
  } while (last->headers.count("connection") == 0);
  CHECK(last->headers.at("connection") == "close");
  auto late = server.connect();
  REQUIRE(late.send(request_text("GET", "/hello")));
  CHECK(idle.ends());
  handed_over.get();
  CHECK(parked->connected());
  parked->answer(plain(200, "after the hand-over"));
  CHECK(waiting.receive()->body == "after the hand-over");
  server.server.stop(milliseconds(0));

  TestServer next;
  next.server.adopt(shared.duplicate());
  next.server.start();
  CHECK(late.receive()->body == "hello");
}

TEST_CASE("a hand-over without connections ends at once") {
  RunningServer server;
  server.server.hand_over(std::chrono::hours(1));
  server.server.stop(milliseconds(0));
  server.server.hand_over(std::chrono::hours(1));
  CHECK(server.server.connections() == 0);
}

TEST_CASE("a stop serves a request that has arrived unread") {
  bool had_begun = false;
  for (const int time_ms : {20, 200, 2000, 2000}) {
    if (had_begun) break;
    const auto answer = answer_of_stopping_server(milliseconds(time_ms));
    REQUIRE(answer);
    CHECK(answer->body == "hello");
    had_begun = answer->headers.count("connection") == 1;  // A server that stops says "close".
  }
  CHECK(had_begun);
}

TEST_CASE("a server responds while it runs, and counts as responding once it has stopped") {
  RunningServer server;
  CHECK(server.server.responds(milliseconds(10'000)));
  server.server.stop(milliseconds(0));
  CHECK(server.server.responds(milliseconds(0)));
}

TEST_CASE("a server that never ran can be stopped") {
  TestServer server;
  server.server.stop(milliseconds(10));
  CHECK(server.server.connections() == 0);
}

TEST_CASE("a port in use and an invalid host are reported") {
  const RunningServer server;
  TestServer other;
  const auto [port, error] = other.server.bind("127.0.0.1", server.port);
  CHECK(port == 0);
  CHECK(error.find("127.0.0.1:" + std::to_string(server.port)) == 0);
  CHECK_FALSE(other.server.bind("300.300.300.300", 0).second.empty());
}

}  // namespace
}  // namespace celld::http::test
