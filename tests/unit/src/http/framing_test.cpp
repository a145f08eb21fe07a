// Malformed requests are refused with a reason.
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::http::test {
namespace {

using namespace std::string_literals;

struct Refused {
  std::string what;
  std::string bytes;
  int status;
};

std::string post_with(const std::string& headers, const std::string& body = {}) {
  return "POST /echo HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + body;
}

std::string get_with(const std::string& headers) {
  return "GET /hello HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n";
}

std::string get_with_host(const std::string& host) {
  return "GET /hello HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
}

std::vector<Refused> refused_requests() {
  const std::string field = "A: " + std::string(2000, 'x') + "\r\n";
  return {
      {"a bare LF", "GET /hello HTTP/1.1\nHost: x\n\n", 400},
      {"a bare LF after a field", get_with("A: b\nC: d\r\n"), 400},
      {"a bare CR in a field", get_with("A: b\rC: d\r\n"), 400},
      {"a bare CR in the request line", "GET /hello\r HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a NUL in a field", get_with("A: b\0c\r\n"s), 400},
      {"a NUL in the target", "GET /he\0llo HTTP/1.1\r\nHost: x\r\n\r\n"s, 400},
      {"a control character in a field", get_with("A: \x01\r\n"), 400},
      {"a folded line", get_with("A: b\r\n c\r\n"), 400},
      {"a space before the colon", get_with("A : b\r\n"), 400},
      {"a field without a name", get_with(": b\r\n"), 400},
      {"a field without a colon", get_with("nothing\r\n"), 400},
      {"a space before the first field", "GET /hello HTTP/1.1\r\n Host: x\r\n\r\n", 400},
      {"no Host", "GET /hello HTTP/1.1\r\n\r\n", 400},
      {"two Hosts", get_with("Host: y\r\n"), 400},
      {"a Host with a path", "GET /hello HTTP/1.1\r\nHost: x/y\r\n\r\n", 400},
      {"a Host with a control character", get_with_host("x\x01y"), 400},
      {"a non-ASCII Host", get_with_host("x\xc3\xa9"), 400},
      {"a Host with an escape", get_with_host("x%00"), 400},
      {"a Host with a user", get_with_host("u@x"), 400},
      {"a Host with two ports", get_with_host("x:1:2"), 400},
      {"a Host with a port that is not a number", get_with_host("x:a"), 400},
      {"a Host in an open bracket", get_with_host("[::1"), 400},
      {"a Host in an empty bracket", get_with_host("[]"), 400},
      {"a Host with a name in brackets", get_with_host("[x]"), 400},
      {"a Host with text after its bracket", get_with_host("[::1]x"), 400},
      {"HTTP/2.0", "GET /hello HTTP/2.0\r\nHost: x\r\n\r\n", 505},
      {"HTTP/1.2", "GET /hello HTTP/1.2\r\nHost: x\r\n\r\n", 505},
      {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"a version in lower case", "GET /hello http/1.1\r\nHost: x\r\n\r\n", 400},
      {"no version", "GET /hello\r\nHost: x\r\n\r\n", 400},
      {"two spaces", "GET  /hello HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a space after the version", "GET /hello HTTP/1.1 \r\nHost: x\r\n\r\n", 400},
      {"a method that is not a token", "G@T /hello HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a method that is too long", std::string(40, 'G') + " /hello HTTP/1.1\r\nHost: x\r\n\r\n",
       400},
      {"only empty lines", "\r\n\r\n\r\n", 400},
      {"the start of a TLS handshake", "\x16\x03\x01\x02\n\r\n\r\n", 400},
      {"two Content-Lengths", post_with("Content-Length: 1\r\nContent-Length: 1\r\n", "a"), 400},
      {"a list of lengths", post_with("Content-Length: 1, 1\r\n", "a"), 400},
      {"a signed length", post_with("Content-Length: +1\r\n", "a"), 400},
      {"a negative length", post_with("Content-Length: -1\r\n", "a"), 400},
      {"a hexadecimal length", post_with("Content-Length: 0x1\r\n", "a"), 400},
      {"an empty length", post_with("Content-Length:\r\n"), 400},
      {"a length of 19 digits", post_with("Content-Length: 9999999999999999999\r\n"), 413},
      {"a length beyond 64 bits", post_with("Content-Length: 18446744073709551617\r\n"), 413},
      {"a length of 1000 digits", post_with("Content-Length: " + std::string(1000, '9') + "\r\n"),
       413},
      {"a length of 1000 digits and a letter",
       post_with("Content-Length: " + std::string(1000, '9') + "a\r\n"), 400},
      {"a length and chunks",
       post_with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {"chunks and a length",
       post_with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), 400},
      {"two Transfer-Encodings",
       post_with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {"gzip in chunks", post_with("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 400},
      {"an unknown Transfer-Encoding", post_with("Transfer-Encoding: xchunked\r\n"), 400},
      {"a Transfer-Encoding after a tab", post_with("Transfer-Encoding:\vchunked\r\n"), 400},
      {"an identity Transfer-Encoding", post_with("Transfer-Encoding: identity\r\n"), 400},
      {"chunks in HTTP/1.0", "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       400},
      {"a gzip body", post_with("Content-Encoding: gzip\r\nContent-Length: 1\r\n", "a"), 415},
      {"a multipart body",
       post_with("Content-Type: Multipart/form-data; boundary=x\r\nContent-Length: 1\r\n", "a"),
       415},
      {"an unknown expectation", post_with("Expect: the-unexpected\r\n"), 400},
      {"an asterisk as target", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a target without a slash", "GET hello HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a fragment", "GET /hello#a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a raw non-ASCII byte", "GET /h\xc3\xa9llo HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a broken escape", "GET /hello%4 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"an escape that is not hexadecimal", "GET /hello%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"an absolute target of another protocol", "GET ftp://x/hello HTTP/1.1\r\nHost: x\r\n\r\n",
       400},
      {"an absolute target without a host", "GET http:///hello HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"an absolute target with control characters",
       "GET http://\x01\x03 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"an absolute target with only a port", "GET http://:80/hello HTTP/1.1\r\nHost: x\r\n\r\n",
       400},
      {"an absolute target with a malformed Host",
       "GET http://x/hello HTTP/1.1\r\nHost: \xff\r\n\r\n", 400},
      {"an absolute target with a user", "GET http://u@x/hello HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"an absolute target without a Host field", "GET http://x/hello HTTP/1.1\r\n\r\n", 400},
      {"invalid UTF-8 in the query", "GET /hello?a=%c0%80 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a NUL in the query", "GET /hello?a=%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a chunk size with a sign", post_with("Transfer-Encoding: chunked\r\n", "-2\r\n"), 400},
      {"a chunk size with a prefix", post_with("Transfer-Encoding: chunked\r\n", "0x2\r\nab\r\n"),
       400},
      {"a chunk size that is empty", post_with("Transfer-Encoding: chunked\r\n", "\r\n"), 400},
      {"a chunk size that ends in LF", post_with("Transfer-Encoding: chunked\r\n", "1\na\r\n"),
       400},
      {"a chunk size of 17 digits",
       post_with("Transfer-Encoding: chunked\r\n", "00000000000000001\r\n"), 400},
      {"a chunk size above every limit",
       post_with("Transfer-Encoding: chunked\r\n", "ffffffffffffffff\r\n"), 413},
      {"a chunk longer than its size", post_with("Transfer-Encoding: chunked\r\n", "1\r\nab\r\n"),
       400},
      {"an endless chunk extension",
       post_with("Transfer-Encoding: chunked\r\n", "1;" + std::string(100, 'x')), 400},
      {"an endless trailer",
       post_with("Transfer-Encoding: chunked\r\n", "0\r\n" + std::string(5000, 'x')), 400},
      {"a trailer of too many fields",
       post_with("Transfer-Encoding: chunked\r\n", "0\r\n" + field + field + field + "\r\n"), 400},
      {"a bare CR in a trailer",
       post_with("Transfer-Encoding: chunked\r\n", "0\r\nA: b\rC: d\r\n\r\n"), 400},
      {"a malformed trailer", post_with("Transfer-Encoding: chunked\r\n", "0\r\nno field\r\n\r\n"),
       400},
  };
}

TEST_CASE("a host is a name or an address, with or without a port") {
  const RunningServer server;
  for (const std::string host : {"x", "x:8080", "x:", "A-b_c.example.~", "127.0.0.1:1", "[::1]",
                                 "[::ffff:127.0.0.1]:80", "", ":80"}) {
    INFO(host);
    auto client = server.connect();
    REQUIRE(client.send(get_with_host(host)));
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->status == 200);
  }
}

TEST_CASE("a malformed host is refused with the name of its place") {
  const RunningServer server;
  const auto refusal = [&](const std::string& request) { return server.ask(request)->body; };
  const std::string of_target = "The authority of the request target is malformed.";
  CHECK(refusal("GET http://\x01\x03 HTTP/1.1\r\nHost: x\r\n\r\n") == of_target);
  CHECK(refusal("GET http://:80/hello HTTP/1.0\r\n\r\n") == of_target);
  const std::string of_field = "The Host header field is malformed.";
  CHECK(refusal("GET http://x/hello HTTP/1.1\r\nHost: \xff\r\n\r\n") == of_field);
  CHECK(refusal(get_with_host("a b")) == of_field);
}

TEST_CASE("a malformed request is refused, and its connection closes cleanly") {
  const RunningServer server;
  const auto smuggled = "GET /seen HTTP/1.1\r\nHost: x\r\n\r\n"s;
  for (const auto& refused : refused_requests()) {
    INFO(refused.what);
    auto client = server.connect();
    REQUIRE(client.send(refused.bytes));
    client.send(smuggled);
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->status == refused.status);
    CHECK(answer->headers.at("connection") == "close");
    client.shut_down_writing();
    CHECK(client.ends());
  }
}

TEST_CASE("nothing after a refused request is ever executed") {
  RunningServer server;
  for (const auto& refused : refused_requests()) {
    auto client = server.connect();
    client.send(refused.bytes + "GET /seen HTTP/1.1\r\nHost: x\r\n\r\n");
    client.shut_down_writing();
    CHECK(client.receive_to_end());
  }
  CHECK(server.seen.size() == 0);
}

TEST_CASE("the name of a Transfer-Encoding is case-insensitive") {
  const RunningServer server;
  const auto answer =
      server.ask(post_with("Transfer-Encoding: Chunked\r\n", "1\r\na\r\n0\r\n\r\n"));
  REQUIRE(answer);
  CHECK(answer->status == 200);
}

TEST_CASE("a body whose Content-Encoding is identity is taken as it is") {
  const RunningServer server;
  for (const std::string name : {"identity", "IDENTITY"}) {
    INFO(name);
    const auto answer =
        server.ask(post_with("Content-Encoding: " + name + "\r\nContent-Length: 1\r\n", "a"));
    REQUIRE(answer);
    CHECK(answer->status == 200);
    CHECK(answer->body == "a");
  }
}

TEST_CASE("leading zeros in a length are ignored") {
  const RunningServer server;
  const auto answer =
      server.ask(post_with("Content-Length: " + std::string(40, '0') + "1\r\n", "a"));
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == "a");
}

TEST_CASE("a request sent byte by byte is served") {
  const RunningServer server;
  auto client = server.connect();
  const auto bytes =
      "\r\nPOST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;a=b\r\nabc\r\n00a\r\n0123456789\r\n0\r\nX: y\r\n\r\n"s;
  for (const char byte : bytes) REQUIRE(client.send({&byte, 1}));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == "abc0123456789");
}

TEST_CASE("an empty line before each request of a connection is ignored") {
  const RunningServer server;
  auto client = server.connect();
  for (int number = 0; number < 3; ++number) {
    REQUIRE(client.send("\r\n" + request_text("GET", "/hello")));
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->status == 200);
  }
}

TEST_CASE("a request that ends in its head or its body gets a 400") {
  const RunningServer server;
  for (const auto* bytes : {"GET /hello HTTP/1.1\r\nHost",
                            "POST /echo HTTP/1.1\r\nHost: x\r\n"
                            "Content-Length: 5\r\n\r\nabc"}) {
    auto client = server.connect();
    REQUIRE(client.send(bytes));
    client.shut_down_writing();
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->status == 400);
    CHECK(client.ends());
  }
}

TEST_CASE("an unexpected body is never parsed as a request") {
  RunningServer server;
  auto client = server.connect();
  const auto hidden = "GET /seen HTTP/1.1\r\nHost: x\r\n\r\n"s;
  for (const auto* method : {"GET", "HEAD", "DELETE"}) {
    // The body arrives separately from the head, like a second TCP segment.
    const auto text = request_text(method, "/hello", hidden);
    REQUIRE(client.send(text.substr(0, text.size() - hidden.size())));
    REQUIRE(client.send(hidden));
    const auto answer = client.receive(method == "HEAD"s);
    REQUIRE(answer);
    CHECK(answer->status == (method == "DELETE"s ? 405 : 200));
  }
  REQUIRE(client.send(request_text("GET", "/hello")));
  CHECK(client.receive()->body == "hello");
  CHECK(server.seen.size() == 0);
}

TEST_CASE("only one empty line before a request is ignored, also when they arrive apart") {
  const RunningServer server;
  auto client = server.connect();
  REQUIRE(client.send("\r\n"));
  CHECK_FALSE(client.has_input_within(std::chrono::milliseconds(200)));  // It is read meanwhile.
  REQUIRE(client.send("\r\n" + request_text("GET", "/hello")));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 400);
}

}  // namespace
}  // namespace celld::http::test
