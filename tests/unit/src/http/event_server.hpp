// A server with streamed answers.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::http::test {

inline Response events(std::string first = {}) {
  return Response{200, "text/event-stream", std::move(first), {{"Cache-Control", "no-store"}}};
}

/// A server whose GET /events hands its stream to the test.
struct EventServer : TestServer {
  explicit EventServer(Limits limits = {}, StreamOptions stream_options = {})
      : TestServer(limits), options(std::move(stream_options)) {
    server.handle("GET", "/events", [this](const Request& request, const Responder& responder) {
      streams.put(responder.begin_stream(events(request.header("x-first").value_or("")), options));
    });
    start();
  }
  ~EventServer() { server.stop(milliseconds(0)); }
  EventServer(const EventServer&) = delete;
  EventServer& operator=(const EventServer&) = delete;

  /// Sends a request from `client`, and returns the stream that answers it.
  AnswerStream begin(Client& client, std::string_view headers = {}) {
    REQUIRE(client.send(request_text("GET", "/events", {}, headers)));
    auto stream = streams.take();
    REQUIRE(stream);
    return *stream;
  }

  StreamOptions options;
  Events<AnswerStream> streams;
};

inline Limits with_write_timeout(milliseconds timeout) {
  Limits limits;
  limits.write_timeout = timeout;
  return limits;
}

}  // namespace celld::http::test
