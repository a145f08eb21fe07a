// Streamed request bodies of any length.
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::http::test {
namespace {

using namespace std::string_literals;

/// What happened to the one streamed request.
struct Record {
  std::mutex mutex;
  std::string body;
  std::optional<Responder> responder;
  std::shared_ptr<BodyFlow> flow;
  std::size_t enough_after = std::string::npos;
  bool pauses = false;
  bool throws = false;
  bool answers_timeout = false;
  std::atomic<std::size_t> bytes{0};
  std::atomic<int> calls{0};
  std::atomic<bool> overlapped{false};
  Events<std::string> events;
};

class RecordingSink : public BodySink {
 public:
  explicit RecordingSink(Record& record) : record_(record) {}
  ~RecordingSink() override { record_.events.put("freed"); }

  bool on_data(std::string_view piece) override {
    if (record_.calls.fetch_add(1) != 0) record_.overlapped = true;
    if (record_.throws) throw std::runtime_error("the sink is broken");
    if (record_.pauses) record_.flow->pause();
    {
      const std::lock_guard lock(record_.mutex);
      record_.body.append(piece);
    }
    const bool more = record_.bytes.fetch_add(piece.size()) + piece.size() < record_.enough_after;
    record_.calls.fetch_sub(1);
    if (record_.pauses) record_.events.put("paused");
    return more;
  }

  void on_end() override {
    record_.responder->answer(plain(200, std::to_string(record_.bytes.load())));
    record_.events.put("end");
  }

  bool on_timeout() override {
    if (!record_.answers_timeout) return false;
    record_.events.put("timeout");
    return true;
  }

  void on_abort() override { record_.events.put("abort"); }

 private:
  Record& record_;
};

/// Destroyed after the server, whose threads write to it.
struct Recorded {
  Record record;
};

class StreamServer : public Recorded, public TestServer {
 public:
  explicit StreamServer(Limits limits = {}) : TestServer(limits) {
    server.handle_stream("POST", "/stream",
                         [this](const Request& request, Responder responder,
                                std::shared_ptr<BodyFlow> flow) -> std::unique_ptr<BodySink> {
                           if (request.header("x-refuse")) {
                             responder.answer(plain(403, "refused"));
                             return nullptr;
                           }
                           record.responder = std::move(responder);
                           record.flow = std::move(flow);
                           record.events.put("open");
                           return std::make_unique<RecordingSink>(record);
                         });
    start();
  }
};

std::string chunk(std::string_view data) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string size;
  for (auto left = data.size(); left > 0; left /= 16) size.insert(size.begin(), digits[left % 16]);
  return size + "\r\n" + std::string(data) + "\r\n";
}

const auto chunked_head = "POST /stream HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"s;

TEST_CASE("a streamed body arrives in pieces, and may exceed the limit of other bodies") {
  StreamServer server;
  auto client = server.connect();
  REQUIRE(client.send(chunked_head));
  CHECK(server.record.events.take() == "open");
  std::string sent;
  for (int i = 0; i < 100; ++i) {
    const std::string piece(50'000, static_cast<char>('a' + i % 26));
    REQUIRE(client.send(chunk(piece)));
    sent += piece;
  }
  REQUIRE(client.send("0\r\nTrailer: dropped\r\n\r\n"));
  CHECK(client.receive()->body == std::to_string(sent.size()));
  CHECK(server.record.events.take() == "end");
  CHECK(server.record.events.take() == "freed");
  CHECK((server.record.body == sent));
  CHECK_FALSE(server.record.overlapped);

  REQUIRE(client.send(request_text("GET", "/hello")));
  CHECK(client.receive()->body == "hello");
}

TEST_CASE("a streamed body may have a length, and may be empty") {
  StreamServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/stream?a=b", "twelve bytes")));
  CHECK(client.receive()->body == "12");
  REQUIRE(client.send("POST /stream HTTP/1.1\r\nHost: x\r\n\r\n"));
  CHECK(client.receive()->body == "12");
  REQUIRE(
      client.send("POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
                  "Expect: 100-continue\r\n\r\n"));
  CHECK(client.receive()->status == 100);
  REQUIRE(client.send("a" + request_text("GET", "/hello")));
  CHECK(client.receive()->body == "13");
  CHECK(client.receive()->body == "hello");
}

TEST_CASE("a streamed request without a body to wait for gets no 100") {
  StreamServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/stream", {}, "Expect: 100-continue\r\n")));
  CHECK(client.receive().value().status == 200);
}

TEST_CASE("a streamed request that is sent with its body gets no 100") {
  StreamServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/stream", "x", "Expect: 100-continue\r\n")));
  CHECK(client.receive().value().status == 200);
}

TEST_CASE("after a streamed body, the connection closes if the request asked for it") {
  StreamServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/stream", "x", "Connection: close\r\n")));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->body == "1");
  REQUIRE(answer->headers.contains("connection"));
  CHECK(answer->headers.at("connection") == "close");
  CHECK(client.ends());
}

TEST_CASE("another method on a streamed path gets a 405") {
  const StreamServer server;
  const auto answer = server.ask(request_text("PUT", "/stream", "x"));
  REQUIRE(answer);
  CHECK(answer->status == 405);
  CHECK(answer->headers.at("allow") == "POST");
}

TEST_CASE("a paused sink holds its client back, and continues where it stopped") {
  Limits limits;
  limits.body_timeout = milliseconds(1000);
  StreamServer server(limits);
  server.record.pauses = true;
  auto client = server.connect();
  REQUIRE(client.send(chunked_head + chunk("first")));
  REQUIRE(server.record.events.take() == "open");
  REQUIRE(server.record.events.take() == "paused");

  // The buffers of the kernel and of the server fill up, and then accept nothing more.
  std::string sent = "first";
  const std::string piece(50'000, 'x');
  const auto bytes = chunk(piece);
  std::string unsent;
  for (int i = 0; i < 10'000 && unsent.empty(); ++i) {
    unsent = bytes.substr(client.send_some(bytes));
    sent += piece;
  }
  CHECK(!unsent.empty());
  CHECK(sent.size() < (64U << 20));
  // Longer than the body timeout, which is suspended while the client is held back.
  CHECK_FALSE(client.has_input_within(milliseconds(1500)));
  CHECK(server.record.bytes == 5);

  server.record.pauses = false;
  server.record.flow->resume();
  REQUIRE(client.send(unsent + "0\r\n\r\n"));
  CHECK(client.receive()->body == std::to_string(sent.size()));
  CHECK((server.record.body == sent));
}

TEST_CASE("a sink that has paused twice gets no more until it has resumed twice") {
  Limits limits;
  limits.threads = 1;
  StreamServer server(limits);
  server.record.pauses = true;
  auto client = server.connect();
  REQUIRE(client.send(chunked_head + chunk("first")));
  REQUIRE(server.record.events.take() == "open");
  REQUIRE(server.record.events.take() == "paused");
  server.record.pauses = false;
  server.record.flow->pause();
  REQUIRE(client.send(chunk("last") + "0\r\n\r\n"));
  server.record.flow->resume();
  // Its body is so large that the thread of the sink runs the handler, after what it had to do.
  REQUIRE(server.ask(request_text("POST", "/echo", std::string(0x8000, 'a'))));
  CHECK(server.record.bytes == 5);
  server.record.flow->resume();
  CHECK(client.receive().value().body == "9");
}

/// Whether a body is served whose sink is paused for three of these body timeouts while the server
/// waits for its next piece.
bool serves_body_paused_between_pieces(milliseconds body_timeout) {
  Limits limits;
  limits.body_timeout = body_timeout;
  StreamServer server(limits);
  auto client = server.connect();
  if (!client.send(chunked_head + chunk("first"))) return false;
  if (server.record.events.take() != "open") return false;
  if (!eventually([&] { return server.record.bytes == 5; })) return false;
  if (!server.ask(request_text("GET", "/hello"))) return false;  // By now, the poller waits.
  server.record.flow->pause();
  const bool is_answered = client.has_input_within(3 * body_timeout);
  server.record.flow->resume();
  if (is_answered || !client.send(chunk("last") + "0\r\n\r\n")) return false;
  const auto answer = client.receive();
  return answer && answer->status == 200 && answer->body == "9";
}

TEST_CASE("a client is not blamed for a pause that its sink began after the last piece") {
  bool is_served = false;
  // A busy machine may be too slow for one attempt; a longer timeout leaves it more time.
  for (const int timeout_ms : {200, 1000, 5000}) {
    is_served = is_served || serves_body_paused_between_pieces(milliseconds(timeout_ms));
  }
  CHECK(is_served);
}

TEST_CASE("a sink that wants no more gets no more, and its answer still arrives") {
  StreamServer server;
  server.record.enough_after = 10;
  auto client = server.connect();
  REQUIRE(client.send(chunked_head + chunk(std::string(10, 'a'))));
  CHECK(server.record.events.take() == "open");
  CHECK(server.record.events.take() == "freed");
  for (int i = 0; i < 100; ++i) REQUIRE(client.send(chunk(std::string(10'000, 'b'))));
  CHECK(server.record.bytes == 10);
  server.record.responder->answer(plain(429, "full"));
  for (int i = 0; i < 100; ++i) REQUIRE(client.send(chunk(std::string(10'000, 'b'))));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 429);
  CHECK(answer->headers.at("connection") == "close");
  client.shut_down_writing();
  CHECK(client.ends());
}

TEST_CASE("a client may send only so much that its sink does not want before it is held back") {
  constexpr std::size_t most = 128 << 20;  // More than the bound and what sockets hold.
  StreamServer server;
  server.record.enough_after = 10;
  auto client = server.connect();
  REQUIRE(client.send("POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n" +
                      std::string(10, 'a')));
  CHECK(server.record.events.take() == "open");
  CHECK(server.record.events.take() == "freed");
  REQUIRE(client.send(std::string(30 << 20, 'b')));
  CHECK(send_until_held_back(server, client, most) < most);
  CHECK(server.record.bytes == 10);
}

TEST_CASE("a handler may answer without a sink") {
  const StreamServer server;
  auto client = server.connect();
  REQUIRE(
      client.send("POST /stream HTTP/1.1\r\nHost: x\r\nX-Refuse: 1\r\n"
                  "Content-Length: 1000000\r\n\r\n"));
  REQUIRE(client.send(std::string(1'000'000, 'a')));
  CHECK(client.receive()->status == 403);
}

/// Checks that the streamed request, whose sink is open, is aborted.
void check_aborted(Record& record) {
  CHECK(record.events.take() == "abort");
  CHECK(record.events.take() == "freed");
  CHECK(eventually([&] { return !record.responder->connected(); }));
}

TEST_CASE("a client that leaves or breaks the framing aborts its stream, and so does a stop") {
  StreamServer server;
  auto client = server.connect();
  REQUIRE(client.send(chunked_head + chunk("abc")));
  REQUIRE(server.record.events.take() == "open");
  SECTION("by a reset") {
    client.reset();
  }
  SECTION("by closing its sending side") {
    client.shut_down_writing();
    CHECK(client.receive()->status == 400);
  }
  SECTION("by a malformed chunk") {
    REQUIRE(client.send("xyz\r\n"));
    CHECK(client.receive()->status == 400);
  }
  SECTION("while the server stops") {
    server.server.stop(milliseconds(0));
  }
  check_aborted(server.record);
}

TEST_CASE("a client that stalls gets a 408, and its stream is aborted") {
  Limits limits;
  limits.body_timeout = milliseconds(200);
  StreamServer server(limits);
  auto client = server.connect();
  REQUIRE(client.send(chunked_head + chunk("abc")));
  REQUIRE(server.record.events.take() == "open");
  CHECK(client.receive()->status == 408);
  check_aborted(server.record);
}

TEST_CASE("a client that stalls gets a 408, even if its sink wants no more") {
  Limits limits;
  limits.body_timeout = milliseconds(200);
  StreamServer server(limits);
  server.record.enough_after = 3;
  auto client = server.connect();
  REQUIRE(client.send(chunked_head + chunk("abc")));
  REQUIRE(server.record.events.take() == "open");
  REQUIRE(server.record.events.take() == "freed");
  CHECK(client.receive().value().status == 408);
}

TEST_CASE("a sink may answer a client that paused for too long, in its own time") {
  Limits limits;
  limits.body_timeout = milliseconds(100);
  StreamServer server(limits);
  server.record.answers_timeout = true;
  auto client = server.connect();
  REQUIRE(client.send(chunked_head + chunk("abc")));
  REQUIRE(server.record.events.take() == "open");
  REQUIRE(server.record.events.take() == "timeout");
  CHECK(server.record.events.take() == "freed");
  REQUIRE(client.send(chunk("late")));
  CHECK_FALSE(client.has_input_within(milliseconds(300)));  // No second timeout.
  CHECK(server.record.body == "abc");
  server.record.responder->answer(plain(202, "the report"));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 202);
  CHECK(answer->body == "the report");
  CHECK(answer->headers.at("connection") == "close");
}

/// A client that has sent three bytes of its body, and has ended it after the timeout.
auto connect_and_time_out(StreamServer& server) {
  server.record.answers_timeout = true;
  auto client = server.connect();
  REQUIRE(client.send(chunked_head + chunk("abc")));
  REQUIRE(server.record.events.take() == "open");
  REQUIRE(server.record.events.take() == "timeout");
  REQUIRE(client.send("0\r\n\r\n"));
  return client;
}

TEST_CASE("a client that ends its body after the timeout gets the answer to the timeout") {
  Limits limits;
  limits.body_timeout = milliseconds(100);
  StreamServer server(limits);
  auto client = connect_and_time_out(server);
  server.record.responder->answer(plain(202, "the report"));
  CHECK(client.receive()->body == "the report");
  CHECK(server.record.events.take() == "freed");
}

TEST_CASE("after a body that timed out, its connection takes the body of another request") {
  Limits limits;
  limits.body_timeout = milliseconds(100);
  StreamServer server(limits);
  auto client = connect_and_time_out(server);
  REQUIRE(server.ask(request_text("GET", "/hello")));  // The poller has read that end by now.
  server.record.responder->answer(plain(202, "the report"));
  const auto first = client.receive();
  REQUIRE(first);
  REQUIRE_FALSE(first->headers.contains("connection"));  // It stays open.
  REQUIRE(client.send(chunked_head + chunk("next") + "0\r\n\r\n"));
  CHECK(client.receive()->body == "7");  // Bytes of both bodies.
}

TEST_CASE("a paused sink is notified when its client has gone") {
  StreamServer server;
  server.record.pauses = true;
  auto client = server.connect();
  REQUIRE(client.send(chunked_head + chunk("abc")));
  REQUIRE(server.record.events.take() == "open");
  REQUIRE(server.record.events.take() == "paused");
  client.reset();
  CHECK(server.record.events.take() == "abort");
}

TEST_CASE("a sink that throws causes a 500") {
  StreamServer server;
  server.record.throws = true;
  auto client = server.connect();
  REQUIRE(client.send(chunked_head + chunk("abc")));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 500);
  CHECK(answer->body.find("broken") == std::string::npos);
}

TEST_CASE("nothing after a stream answered early is parsed as a request") {
  StreamServer server;
  auto client = server.connect();
  REQUIRE(
      client.send("POST /stream HTTP/1.1\r\nHost: x\r\nX-Refuse: 1\r\n"
                  "Content-Length: 1000\r\n\r\n"));
  CHECK(client.receive()->status == 403);
  client.send("GET /seen HTTP/1.1\r\nHost: x\r\n\r\n");
  client.shut_down_writing();
  CHECK(client.ends());
  CHECK(server.seen.size() == 0);
}

TEST_CASE("a streamed body may be answered by a stream before it has ended") {
  StreamServer server;
  auto client = server.connect();
  REQUIRE(client.send(chunked_head + chunk("hello")));
  REQUIRE(server.record.events.take() == "open");
  const auto stream = server.record.responder->begin_stream(plain(200, "first"));
  const auto head = client.receive(true);
  REQUIRE(head);
  CHECK(head->headers.at("connection") == "close");
  CHECK(client.receive_chunk() == "first");
  CHECK(server.record.events.take() == "freed");
  // The server discards this, and does not parse it as a request.
  REQUIRE(client.send(request_text("GET", "/seen")));
  CHECK(stream.write("second"));
  stream.end();
  CHECK(client.receive_chunk() == "second");
  CHECK(client.receive_chunk() == "");
  CHECK(client.ends());
  CHECK(server.seen.size() == 0);
}

}  // namespace
}  // namespace celld::http::test
