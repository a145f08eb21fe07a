// The HTTP transport and the answers of providers, good and bad.
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "tests/unit/catch.hpp"
#include "tests/unit/machine.hpp"
#include "tests/unit/src/providers/http/misbehaving_provider.hpp"
#include "tests/unit/src/providers/http/transport_fixture.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;
using test::Connection;
using test::http_answer;
using test::MisbehavingProvider;
using test::request_to;
using test::tolerance;
using End = HttpResult::End;

/// The result of a call to a provider with this script; checks that the call ends by its timeout.
HttpResult result_of(MisbehavingProvider::Script script, milliseconds timeout = 10'000ms,
                     std::string_view scheme = "http") {
  MisbehavingProvider provider(std::move(script));
  test::Calls calls;
  const ::test::Stopwatch watch;
  auto result = calls.make(request_to(provider.url(scheme), timeout));
  CHECK(watch.is_within(timeout + tolerance, "a call"));
  return result;
}

/// A script that reads a request and sends this answer.
MisbehavingProvider::Script answering(std::string answer) {
  return [answer = std::move(answer)](Connection& connection) {
    if (connection.read_request()) connection.send(answer);
  };
}

long peak_memory_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

TEST_CASE("a call returns status, body and Retry-After") {
  const auto result =
      result_of(answering(http_answer("429 Slow Down", "later", "retry-after:  7 \r\n")));
  CHECK(result.end == End::answered);
  CHECK(result.status == 429);
  CHECK(result.body == "later");
  CHECK(result.retry_after == "7");
}

TEST_CASE("a call returns the header that it is to keep") {
  const auto kept = [](const std::string& answer) {
    MisbehavingProvider provider(answering(answer));
    test::Calls calls;
    auto request = request_to(provider.url());
    request.kept_header = "Location";
    return calls.make(request).kept_header;
  };
  CHECK(kept(http_answer("202 Accepted", "", "locatioN:  /ops/7 \r\n")) == "/ops/7");
  CHECK(kept(http_answer("202 Accepted", "", "Location: a\r\nLocation: b\r\n")) == "a, b");
  CHECK(kept(http_answer("202 Accepted", "", "Content-Location: /x\r\n")) == std::nullopt);
  CHECK(kept("HTTP/1.1 103 Early Hints\r\nLocation: /x\r\n\r\n" +
             http_answer("202 Accepted", "")) == std::nullopt);
  CHECK(kept("HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n"
             "2\r\n{}\r\n0\r\nLocation: /x\r\n\r\n") == std::nullopt);
  CHECK(result_of(answering(http_answer("202 Accepted", "", "Location: /x\r\n"))).kept_header ==
        std::nullopt);
}

TEST_CASE("a chunked answer is assembled") {
  const auto result = result_of(answering(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n1\r\n \r\n0\r\n\r\n"));
  CHECK(result.end == End::answered);
  CHECK(result.body == "{} ");
}

TEST_CASE("a call to a provider that hangs ends at the timeout") {
  const auto result = result_of(
      [](Connection& connection) {
        connection.read_request();
        connection.wait_closed(10s);
      },
      200ms);
  CHECK(result.end == End::timed_out);
}

TEST_CASE("a call whose answer drips ends at the timeout") {
  const std::string answer = http_answer("200 OK", std::string(5000, ' '));
  const std::size_t head_size = answer.find("\r\n\r\n") + 4;
  const auto at_once = GENERATE_COPY(std::size_t{0}, head_size);
  const auto result = result_of(
      [&](Connection& connection) {
        connection.read_request();
        connection.send(std::string_view(answer).substr(0, at_once));
        connection.drip(std::string_view(answer).substr(at_once), 20ms);
      },
      300ms);
  CHECK(result.end == End::timed_out);
}

TEST_CASE("an answer that drips fast enough is accepted") {
  const auto result = result_of([](Connection& connection) {
    connection.read_request();
    connection.drip(http_answer("200 OK", "{}"), 1ms);
  });
  CHECK(result.end == End::answered);
  CHECK(result.body == "{}");
}

TEST_CASE("a connection that breaks before the end of the answer is broken") {
  SECTION("closed without an answer") {
    CHECK(result_of(answering("")).end == End::broken);
  }
  SECTION("reset") {
    CHECK(result_of([](Connection& connection) {
            connection.read_request();
            connection.reset();
          }).end == End::broken);
  }
  SECTION("in the middle of the body") {
    CHECK(result_of(answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")).end ==
          End::broken);
  }
  SECTION("in the middle of the head") {
    CHECK(result_of(answering("HTTP/1.1 200 OK\r\nContent-")).end == End::broken);
    CHECK(result_of(answering("HTTP/1.1 200 OK\r\n")).end == End::broken);
    CHECK(result_of(answering("HTTP/1.1 103 Early\r\n\r\n")).end == End::broken);
    CHECK(result_of(answering("HTTP/1.1 200 OK\r\nA: b\r\n \r\n")).end == End::broken);
  }
  SECTION("in the middle of the chunks") {
    CHECK(
        result_of(answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")).end ==
        End::broken);
  }
  SECTION("with invalid chunks") {
    CHECK(
        result_of(answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab")).end !=
        End::answered);
  }
}

TEST_CASE("a call returns nothing of an answer that breaks off") {
  const auto result =
      result_of(answering("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 100\r\n\r\n{"));
  CHECK(result.end == End::broken);
  CHECK(result.status == 0);
  CHECK(result.body.empty());
  CHECK_FALSE(result.retry_after);
}

TEST_CASE("an answer that is not HTTP is garbled") {
  CHECK(result_of(answering("SSH-2.0-OpenSSH_9.2p1 Debian\r\n\r\n")).end == End::garbled);
  CHECK(result_of(answering("<html>hello</html>\n")).end == End::garbled);
  for (const auto* status : {"HTTP/2 2020", "HTTP/22241129575 200 OK", "HTTP/1.1 200/ OK",
                             "HTTP/1.1 20", "HTTP/1.1  200 OK", "HTTP/1.x 200 OK"}) {
    INFO(status);
    CHECK(result_of(answering(status + std::string{"\r\n\r\n{}"})).end == End::garbled);
  }
  CHECK(result_of(answering("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")).end ==
        End::garbled);
  CHECK(result_of(answering("HTTP/1.1 204\r\n\r\n")).status == 204);
  CHECK(result_of(answering("HTTP/1.1 200 OK\r\n\r\r\n")).end == End::garbled);
  CHECK(result_of(answering({"HTTP/1.1 200 OK\r\na\0: b\r\n\r\n", 26})).end != End::answered);
  CHECK(result_of(answering("HTTP/1.1 503 Busy\r\nRetry-After: 1\r2\r\n\r\n{}")).end ==
        End::garbled);
  CHECK(result_of(answering("http/1.1 503 Busy\r\n\r\n{}")).end == End::garbled);
  CHECK(result_of(answering("HTTP/1.1 100 Continue\r\n\r\nHtTP/1.1 503 Busy\r\n\r\n")).end ==
        End::garbled);
}

TEST_CASE("an answer with an invalid length is garbled or broken") {
  const auto length =
      GENERATE("-5", "99999999999999999999999", "5, 6", "abc", "", "2\r\nContent-Length: 3");
  const auto result = result_of(
      answering(std::string("HTTP/1.1 200 OK\r\nContent-Length: ") + length + "\r\n\r\n{}"), 500ms);
  INFO(length);
  CHECK(result.end != End::answered);
  CHECK(result.end != End::not_sent);
}

TEST_CASE("bytes beyond the announced length are ignored") {
  const auto result =
      result_of(answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 500 No\r\n\r\n"));
  CHECK(result.end == End::answered);
  CHECK(result.status == 200);
  CHECK(result.body == "{}");
}

TEST_CASE("a redirect is an answer and is not followed") {
  std::atomic<int> requests{0};
  const auto result = result_of([&](Connection& connection) {
    while (connection.read_request()) {
      ++requests;
      connection.send(http_answer("307 Elsewhere", "", "Location: /other\r\n"));
    }
  });
  CHECK(result.status == 307);
  CHECK(requests == 1);
}

TEST_CASE("an answer that is too large ends the call, and memory stays bounded") {
  const auto before = peak_memory_kib();
  const std::string piece(64 << 10, 'x');
  constexpr std::size_t much = 100 << 20;
  const auto flooding = [&](const std::string& begin, const std::string& repeated) {
    return result_of([=](Connection& connection) {
      connection.read_request();
      connection.send(begin);
      connection.flood(repeated, much);
    });
  };
  SECTION("a body with a length") {
    const auto length = std::to_string(much);
    CHECK(flooding("HTTP/1.1 200 OK\r\nContent-Length: " + length + "\r\n\r\n", piece).end ==
          End::too_large);
  }
  SECTION("a body without end") {
    CHECK(flooding("HTTP/1.1 200 OK\r\n\r\n", piece).end == End::too_large);
  }
  SECTION("one header without end") {
    CHECK(flooding("HTTP/1.1 200 OK\r\nA: ", piece).end == End::too_large);
  }
  SECTION("a status line without end") {
    CHECK(flooding("HTTP/1.1 200 ", piece).end == End::too_large);
  }
  SECTION("headers without end") {
    CHECK(flooding("HTTP/1.1 200 OK\r\n", "Name: value\r\n").end == End::too_large);
  }
  SECTION("trailers without end") {
    CHECK(flooding("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "Name: value\r\n")
              .end != End::answered);
  }
  SECTION("interim answers without end") {
    CHECK(flooding("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n").end == End::too_large);
  }
  CHECK(peak_memory_kib() - before < 64 << 10);
}

TEST_CASE("a body of exactly a megabyte is returned whole") {
  const std::string body(HttpLimits{}.body_bytes_max, ' ');
  const auto result = result_of(answering(http_answer("200 OK", body)));
  CHECK(result.end == End::answered);
  CHECK(result.body.size() == body.size());
}

TEST_CASE("an interim answer before the final one is skipped") {
  const auto result = result_of(answering("HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\n" +
                                          http_answer("200 OK", "{}")));
  CHECK(result.status == 200);
  CHECK(result.body == "{}");
  CHECK_FALSE(result.retry_after);
}

TEST_CASE("trailers after an answer are no head") {
  const auto result =
      result_of(answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "2\r\n{}\r\n0\r\nChecksum: 99\r\n\r\n"));
  CHECK(result.end == End::answered);
  CHECK(result.body == "{}");
}

TEST_CASE("trailers after an answer replace none of its headers") {
  const auto result =
      result_of(answering("HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "2\r\n{}\r\n0\r\nRetry-After: 9\r\nContent-Length: x\r\n\r\n"));
  CHECK(result.end == End::answered);
  CHECK(result.status == 503);
  CHECK_FALSE(result.retry_after);
}

}  // namespace celld::providers
