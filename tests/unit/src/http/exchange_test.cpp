// Requests and their answers: keep-alive, pipelining, and the forms that ordinary clients use.
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::http::test {
namespace {

using namespace std::string_literals;

TEST_CASE("a connection serves one request after another") {
  const RunningServer server;
  auto client = server.connect();
  for (int i = 0; i < 100; ++i) {
    const auto body = "body " + std::to_string(i);
    REQUIRE(client.send(request_text("POST", "/echo", body)));
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->status == 200);
    CHECK(answer->body == body);
    CHECK(answer->headers.count("connection") == 0);
  }
}

TEST_CASE("pipelined requests are answered in order") {
  const RunningServer server;
  auto client = server.connect();
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += request_text("POST", "/echo", std::to_string(i));
  REQUIRE(client.send(requests));
  for (int i = 0; i < 1000; ++i) {
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->body == std::to_string(i));
  }
}

TEST_CASE("a pipelined request waits for a parked answer") {
  RunningServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/parked") + request_text("GET", "/seen")));
  const auto parked = server.parked.take();
  REQUIRE(parked);
  CHECK(server.seen.size() == 0);
  parked->answer(plain(201, "first"));
  CHECK(client.receive()->body == "first");
  CHECK(client.receive()->body == "seen");
}

TEST_CASE("a POST without a length has an empty body") {
  const RunningServer server;
  const auto answer = server.ask("POST /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body.empty());
  CHECK(answer->headers.at("content-length") == "0");
}

TEST_CASE("a client that expects 100-continue gets a 100") {
  const RunningServer server;
  auto client = server.connect();
  REQUIRE(
      client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                  "Expect: 100-continue\r\n\r\n"));
  CHECK(client.receive()->status == 100);
  REQUIRE(client.send("hello"));
  CHECK(client.receive()->body == "hello");
  // A client that sends the body without waiting gets none.
  REQUIRE(client.send(request_text("POST", "/echo", "again", "Expect: 100-Continue\r\n")));
  CHECK(client.receive()->body == "again");
}

TEST_CASE("a client that expects 100-continue for too large a body gets the 413 instead") {
  const RunningServer server;
  auto client = server.connect();
  REQUIRE(
      client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n"
                  "Expect: 100-continue\r\n\r\n"));
  CHECK(client.receive()->status == 413);
  client.shut_down_writing();
  CHECK(client.ends());
}

TEST_CASE("a connection closes after the answer when the client asks for it") {
  const RunningServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("GET", "/hello", {}, "Connection: foo, Close\r\n")));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->headers.at("connection") == "close");
  client.shut_down_writing();
  CHECK(client.ends());
}

TEST_CASE("an HTTP/1.0 client keeps its connection only when it asks to") {
  const RunningServer server;
  auto closing = server.connect();
  REQUIRE(closing.send("GET /hello HTTP/1.0\r\n\r\n"));
  CHECK(closing.receive()->headers.at("connection") == "close");
  closing.shut_down_writing();
  CHECK(closing.ends());

  auto keeping = server.connect();
  for (int i = 0; i < 2; ++i) {
    REQUIRE(keeping.send("GET /hello HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
    const auto answer = keeping.receive();
    REQUIRE(answer);
    CHECK(answer->body == "hello");
    CHECK(answer->headers.at("connection") == "keep-alive");
  }
}

TEST_CASE("a client that closes its sending side still gets its answers") {
  RunningServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("GET", "/hello") + request_text("POST", "/parked")));
  client.shut_down_writing();
  CHECK(client.receive()->body == "hello");
  const auto parked = server.parked.take();
  REQUIRE(parked);
  CHECK(parked->connected());
  parked->answer(plain(200, "parked"));
  CHECK(client.receive()->body == "parked");
  CHECK(client.ends());
}

TEST_CASE("HEAD gets the length of the body, and no body") {
  const RunningServer server;
  auto client = server.connect();
  for (const auto* path : {"/hello", "/nowhere"}) {
    REQUIRE(client.send(request_text("HEAD", path)));
    const auto answer = client.receive(true);
    REQUIRE(answer);
    CHECK(answer->headers.at("content-length") != "0");
  }
  REQUIRE(client.send(request_text("GET", "/hello")));
  CHECK(client.receive()->body == "hello");
}

TEST_CASE("a HEAD that is refused unread gets no body, either") {
  const RunningServer server;
  for (const auto* rest : {" / HTTP/1.1\r\nHost: a b\r\n\r\n", " / HTTP/1.1\r\nHost\r\n\r\n",
                           " /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", " / HTTP/7.1\r\n\r\n"}) {
    CAPTURE(rest);
    auto client = server.connect();
    REQUIRE(client.send("HEAD" + std::string(rest)));
    const auto answer = client.receive(true);
    REQUIRE(answer);
    CHECK(answer->status >= 400);
    CHECK(answer->headers.at("content-length") != "0");
    CHECK(client.ends());
    auto other = server.connect();
    REQUIRE(other.send("GET" + std::string(rest)));
    CHECK_FALSE(other.receive()->body.empty());
  }
}

TEST_CASE("a large answer arrives whole") {
  TestServer server;
  std::string large(16 << 20, 'a');
  for (std::size_t i = 0; i < large.size(); i += 1000) large[i] = 'b';
  server.server.handle("GET", "/large", [&](const Request&, const Responder& responder) {
    responder.answer(plain(200, large));
  });
  server.start();
  auto client = server.connect();
  REQUIRE(client.send(request_text("GET", "/large") + request_text("GET", "/hello")));
  CHECK((client.receive()->body == large));
  CHECK(client.receive()->body == "hello");
}

TEST_CASE("a handler that throws causes a 500 without details") {
  TestServer server;
  server.server.handle("GET", "/throws", [](const Request&, const Responder&) {
    throw std::runtime_error("the password is swordfish");
  });
  server.server.handle("GET", "/throws-late", [](const Request&, const Responder& responder) {
    responder.answer(plain(200, "answered"));
    throw 42;
  });
  server.start();
  auto client = server.connect();
  REQUIRE(client.send(request_text("GET", "/throws", {}, "Connection: close\r\n")));
  const auto text = client.receive_to_end();
  REQUIRE(text);
  CHECK(text->substr(0, 13) == "HTTP/1.1 500 ");
  CHECK(text->find("swordfish") == std::string::npos);
  CHECK(text->find("EXCEPTION") == std::string::npos);
  CHECK(server.ask(request_text("GET", "/throws-late"))->body == "answered");
}

TEST_CASE("an answer does not name its server, and its header values cannot inject headers") {
  TestServer server;
  server.server.handle("GET", "/split", [](const Request&, const Responder& responder) {
    responder.answer(Response{200,
                              "text/plain\r\nX: 1",
                              "body",
                              {{"Location", "/a\r\nSet-Cookie: b=c\r\n\r\nbody"},
                               {"Bad Name", "x"},
                               {"Bad\r\nName", "x"},
                               {"Content-Length", "1000"},
                               {"Transfer-Encoding", "chunked"},
                               {"Connection", "upgrade"}}});
  });
  server.start();
  const auto answer = server.ask(request_text("GET", "/split"));
  REQUIRE(answer);
  CHECK(answer->body == "body");
  CHECK(answer->headers.at("location") == "/a  Set-Cookie: b=c    body");
  CHECK(answer->headers.at("content-type") == "text/plain  X: 1");
  CHECK(answer->headers.size() == 4);
  CHECK(answer->headers.at("date").ends_with(" GMT"));
}

TEST_CASE("the date of an answer is the present time in GMT, whatever the time zone is") {
  ::setenv("TZ", "JST-9", 1);
  ::tzset();
  const std::time_t asked_at = std::time(nullptr);
  const auto answer = RunningServer{}.ask(request_text("GET", "/hello"));
  ::unsetenv("TZ");
  ::tzset();
  REQUIRE(answer);
  std::tm parts{};
  const char* const end =
      ::strptime(answer->headers.at("date").c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  REQUIRE(end != nullptr);
  CHECK(*end == '\0');
  const std::time_t date = ::timegm(&parts);
  CHECK(date >= asked_at);
  CHECK(date <= std::time(nullptr) + 1);  // time() may lag behind by a tick of the kernel.
}

TEST_CASE("a 204 has neither a body nor a length") {
  TestServer server;
  server.server.handle("POST", "/done", [](const Request&, const Responder& responder) {
    responder.answer(plain(204, "a body where none may be"));
  });
  server.server.handle("POST", "/done-stream", [&](const Request&, const Responder& responder) {
    server.parked.put(responder);
  });
  server.start();
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/done")));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 204);
  CHECK(answer->headers.count("content-length") == 0);
  CHECK(answer->headers.count("content-type") == 0);

  REQUIRE(client.send(request_text("POST", "/done-stream")));
  const auto parked = server.parked.take();
  REQUIRE(parked);
  CHECK_FALSE(parked->begin_stream(plain(204, "a body where none may be")).connected());
  const auto streamed = client.receive();
  REQUIRE(streamed);
  CHECK(streamed->status == 204);
  CHECK(streamed->headers.count("transfer-encoding") == 0);
  REQUIRE(client.send(request_text("GET", "/hello")));
  CHECK(client.receive()->body == "hello");
}

TEST_CASE("an invalid status becomes a 500") {
  TestServer server;
  server.server.handle("GET", "/odd", [](const Request&, const Responder& responder) {
    responder.answer(plain(99, "odd"));
  });
  server.server.handle("DELETE", "/gone", [](const Request&, const Responder& responder) {
    responder.answer(plain(204, "ignored"));
  });
  server.start();
  CHECK(server.ask(request_text("GET", "/odd"))->status == 500);
  auto client = server.connect();
  REQUIRE(client.send(request_text("DELETE", "/gone") + request_text("GET", "/hello")));
  CHECK(client.receive()->headers.count("content-length") == 0);
  CHECK(client.receive()->body == "hello");
}

TEST_CASE("a refusal keeps the Allow of its maker") {
  Server server({}, [](int status, std::string detail, const std::string&) {
    auto made = plain(status, std::move(detail));
    made.headers = {{"allow", "GET, HEAD"}};
    return made;
  });
  server.handle("GET", "/here", [](const Request&, const Responder&) {});
  const auto port = server.bind("127.0.0.1", 0).first;
  server.start();
  Client client(port);
  REQUIRE(client.send(request_text("PUT", "/here", {}, "Connection: close\r\n")));
  const auto text = client.receive_to_end().value_or("");
  CHECK(text.starts_with("HTTP/1.1 405 "));
  CHECK(text.find("\r\nallow: GET, HEAD\r\n") != std::string::npos);
  CHECK(text.find("\r\nAllow: ") == std::string::npos);
}

TEST_CASE("a refusal has its status even if its maker throws") {
  Server server({}, [](int, std::string, const std::string&) -> Response { throw 1; });
  const auto port = server.bind("127.0.0.1", 0).first;
  server.start();
  Client client(port);
  REQUIRE(client.send(request_text("GET", "/nowhere")));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 404);
}

TEST_CASE("headers arrive as sent, and none of them sets the client's address") {
  RunningServer server;
  REQUIRE(server.ask(request_text("GET", "/seen?b=1&a=x%20y+z&b=%26&c", {},
                                  "REMOTE_ADDR: 6.6.6.6\r\nX-Key: a%41%0d%0a\r\n"
                                  "x-key:\t second \r\n")));
  const auto request = server.seen.take();
  REQUIRE(request);
  CHECK(request->peer == "127.0.0.1");
  CHECK(request->header("remote_addr") == "6.6.6.6");
  CHECK(request->header("x-key") == "a%41%0d%0a, second");
  CHECK_FALSE(request->header("absent"));
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(request->query == Pairs{{"b", "1"}, {"a", "x y z"}, {"b", "&"}, {"c", ""}});
}

TEST_CASE("an empty part of a query is no parameter") {
  RunningServer server;
  REQUIRE(server.ask(request_text("GET", "/seen?&a=1&&b=2&")));
  const auto request = server.seen.take();
  REQUIRE(request);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(request->query == Pairs{{"a", "1"}, {"b", "2"}});
}

TEST_CASE("the value of a parameter may have equals signs") {
  RunningServer server;
  REQUIRE(server.ask(request_text("GET", "/seen?a=b=c&d==")));
  const auto request = server.seen.take();
  REQUIRE(request);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(request->query == Pairs{{"a", "b=c"}, {"d", "="}});
}

TEST_CASE("a plus sign in a query is a space, and an escaped one is a plus sign") {
  RunningServer server;
  REQUIRE(server.ask(request_text("GET", "/seen?after=18:00%2B02:00&d%2be=1+%2B+2")));
  const auto request = server.seen.take();
  REQUIRE(request);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(request->query == Pairs{{"after", "18:00+02:00"}, {"d+e", "1 + 2"}});
}

}  // namespace
}  // namespace celld::http::test
