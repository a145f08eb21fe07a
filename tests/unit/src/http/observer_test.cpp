// What a server reports to its observer.
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/http/server_observer.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::http::test {
namespace {

class Recorder : public ServerObserver {
 public:
  void serves(const std::vector<Endpoint>& served) override { endpoints = served; }
  void answered(std::optional<std::size_t> endpoint, int status,
                std::chrono::microseconds took) override {
    const std::string name =
        endpoint ? endpoints.at(*endpoint).method + " " + endpoints.at(*endpoint).pattern : "none";
    answers.put({name, status, took});
  }
  void refused(int status) override { refusals.put(status); }

  std::vector<Endpoint> endpoints;
  Events<std::tuple<std::string, int, std::chrono::microseconds>> answers;
  Events<int> refusals;
};

/// Never answers, and throws when data arrives.
class BrokenSink : public BodySink {
 public:
  explicit BrokenSink(Responder responder) : responder_(std::move(responder)) {}
  bool on_data(std::string_view /*piece*/) override { throw 1; }
  void on_end() override {}
  void on_abort() override {}

 private:
  const Responder responder_;
};

struct ObservedServer : TestServer {
  explicit ObservedServer(Limits limits = {}) : TestServer(limits) {
    server.observe(recorder);
    server.handle("GET", "/things/{}/{}", [](const Request&, const Responder& responder) {
      responder.answer(plain(200, "a thing"));
    });
    server.handle("GET", "/stream", [this](const Request&, const Responder& responder) {
      streams.put(responder.begin_stream(plain(200, "first")));
    });
    server.handle_stream("POST", "/stream",
                         [](const Request&, const Responder& responder,
                            const std::shared_ptr<BodyFlow>&) -> std::unique_ptr<BodySink> {
                           responder.answer(plain(200, "without a sink"));
                           return nullptr;
                         });
    server.handle_stream("POST", "/broken",
                         [](const Request&, Responder responder, const std::shared_ptr<BodyFlow>&) {
                           return std::make_unique<BrokenSink>(std::move(responder));
                         });
    server.handle("GET", "/throw", [](const Request&, const Responder&) { throw 1; });
    start();
  }

  /// `rest`: further fields, the empty line, and the body.
  void expect(const std::string& request, const std::string& endpoint, int status,
              const std::string& rest = "\r\n") {
    auto client = connect();
    REQUIRE(client.send(request + " HTTP/1.1\r\nHost: x\r\n" + rest));
    const auto reported = recorder->answers.take();
    REQUIRE(reported);
    CHECK(std::get<0>(*reported) == endpoint);
    CHECK(std::get<1>(*reported) == status);
  }

  const std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
  Events<AnswerStream> streams;
};

}  // namespace

TEST_CASE("an observer receives each answer with its endpoint, never with its path") {
  ObservedServer server;
  server.expect("GET /things/a/b", "GET /things/{}/{}", 200);
  server.expect("GET /things/c/d?e=f", "GET /things/{}/{}", 200);
  server.expect("HEAD /hello", "GET /hello", 200);
  server.expect("GET /throw", "GET /throw", 500);
  server.expect("POST /stream", "POST /stream", 200);
  server.expect("GET /no/such/path", "none", 404);
  server.expect("PUT /hello", "none", 405);
  CHECK(server.recorder->refusals.size() == 0);
}

TEST_CASE("an observer receives the endpoint of a streamed request whose sink throws") {
  ObservedServer server;
  server.expect("POST /broken", "POST /broken", 500, "Content-Length: 9\r\n\r\na");
}

TEST_CASE("an observer receives the endpoint of a streamed request whose client pauses too long") {
  Limits limits;
  limits.body_timeout = milliseconds(100);
  ObservedServer server{limits};
  server.expect("POST /broken", "POST /broken", 408, "Content-Length: 9\r\n\r\n");
}

TEST_CASE("an observer receives the duration of an answer that had to wait") {
  ObservedServer server;
  auto client = server.connect();
  REQUIRE(client.send("POST /parked HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
  const auto responder = server.parked.take();
  REQUIRE(responder);
  const auto begun = std::chrono::steady_clock::now();
  const auto waited = [&] { return std::chrono::steady_clock::now() - begun; };
  REQUIRE(eventually([&] { return waited() > std::chrono::milliseconds(20); }));
  CHECK(server.recorder->answers.size() == 0);
  responder->answer(plain(201, "made"));
  REQUIRE(client.receive());
  const auto reported = server.recorder->answers.take();
  REQUIRE(reported);
  CHECK(std::get<0>(*reported) == "POST /parked");
  CHECK(std::get<1>(*reported) == 201);
  CHECK(std::get<2>(*reported) > std::chrono::milliseconds(20));
}

TEST_CASE("an observer receives refusals that happen before a request is complete") {
  Limits limits;
  limits.uri_bytes_max = 100;
  ObservedServer server{limits};
  REQUIRE(server.ask("nonsense\r\n\r\n"));
  CHECK(server.recorder->refusals.take() == 400);
  REQUIRE(server.ask("GET /" + std::string(200, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n"));
  CHECK(server.recorder->refusals.take() == 414);
  CHECK(server.recorder->answers.size() == 0);
}

TEST_CASE("an answer listener receives the status of the answer exactly once") {
  TestServer server;
  Events<int> statuses;
  const auto listen = [&](const Responder& responder) {
    responder.on_answer([&](int status) { statuses.put(status); });
  };
  server.server.handle("GET", "/twice", [&](const Request&, const Responder& responder) {
    listen(responder);
    responder.answer(plain(201, "made"));
    responder.answer(plain(200, "too late"));
  });
  server.server.handle("GET", "/stream", [&](const Request&, const Responder& responder) {
    listen(responder);
    responder.begin_stream(plain(202, "first")).end();
  });
  server.server.handle("GET", "/dropped",
                       [&](const Request&, const Responder& responder) { listen(responder); });
  server.server.handle("GET", "/left", [&](const Request&, Responder responder) {
    listen(responder);
    server.parked.put(std::move(responder));
  });
  server.start();
  for (const auto& [path, status] :
       std::map<std::string, int>{{"/twice", 201}, {"/stream", 202}, {"/dropped", 500}}) {
    REQUIRE(server.ask("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(statuses.take() == status);
    CHECK(statuses.size() == 0);
  }
  std::optional<Responder> left;
  {
    auto client = server.connect();
    REQUIRE(client.send("GET /left HTTP/1.1\r\nHost: x\r\n\r\n"));
    left = server.parked.take();
    REQUIRE(left);
    CHECK(statuses.size() == 0);
    client.reset();
  }
  REQUIRE(eventually([&] { return !left->connected(); }));
  left->answer(plain(204, ""));
  CHECK(statuses.take() == 204);
  left.reset();
  CHECK(statuses.size() == 0);
}

TEST_CASE("a server counts its open streams") {
  ObservedServer server;
  CHECK(server.server.streams() == 0);
  auto client = server.connect();
  REQUIRE(client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"));
  auto ended = server.streams.take();
  REQUIRE(ended);
  {
    auto leaving = server.connect();
    REQUIRE(leaving.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"));
    REQUIRE(server.streams.take());
    CHECK(eventually([&] { return server.server.streams() >= 1; }));
  }
  ended->end();
  CHECK(eventually([&] { return server.server.streams() == 0; }));
}

}  // namespace celld::http::test
