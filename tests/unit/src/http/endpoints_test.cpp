// Finding the handler of a request.
#include <string>

#include "src/http/endpoints.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::http::test {
namespace {

class JobServer : public TestServer {
 public:
  JobServer() {
    const auto captures = [](const Request& request, const Responder& responder) {
      std::string text = request.method + " " + request.path;
      for (const auto& capture : request.captures) text += " [" + capture + "]";
      responder.answer(plain(200, text));
    };
    server.handle("GET", "/jobs/{}", captures);
    server.handle("DELETE", "/jobs/{}", captures);
    server.handle("GET", "/jobs/recent", [](const Request&, const Responder& responder) {
      responder.answer(plain(200, "the recent ones"));
    });
    server.handle("GET", "/cells/{}/{}", captures);
    server.handle("GET", "/a.b+c/(x)", captures);
    start();
  }

  std::string get(const std::string& path) const { return ask(request_text("GET", path))->body; }
  int status(const std::string& method, const std::string& path) const {
    return ask(request_text(method, path))->status;
  }
};

TEST_CASE("a path matches a pattern segment by segment") {
  using Segments = std::vector<std::string_view>;
  CHECK(match_path("/jobs/{}/events", "/jobs/17/events") == Segments{"17"});
  CHECK(match_path("/cells/{}/{}", "/cells/a/{}") == Segments{"a", "{}"});
  CHECK(match_path("/jobs", "/jobs") == Segments{});
  for (const auto* path : {"", "/", "jobs/17", "/jobs", "/jobs/", "/jobs/17/", "/jobs/17/18",
                           "//17", "/jobs//", "/job/17", "/jobsx/17"}) {
    INFO(path);
    CHECK_FALSE(match_path("/jobs/{}", path));
  }
  CHECK_FALSE(match_path("/jobs", "/jobs/"));
  CHECK_FALSE(match_path("/cells/{}/{}", "/cells//a"));
}

TEST_CASE("each capture is one decoded segment") {
  const JobServer server;
  CHECK(server.get("/jobs/17") == "GET /jobs/17 [17]");
  CHECK(server.get("/jobs/a%20b?c=/d") == "GET /jobs/a b [a b]");
  CHECK(server.get("/jobs/caf%C3%A9") == "GET /jobs/caf\xc3\xa9 [caf\xc3\xa9]");
  CHECK(server.get("/jobs/a+b") == "GET /jobs/a+b [a+b]");
  CHECK(server.get("/cells/acme/*") == "GET /cells/acme/* [acme] [*]");
  CHECK(server.get("/%6aobs/17") == "GET /jobs/17 [17]");
}

TEST_CASE("an escaped slash does not separate segments") {
  const JobServer server;
  CHECK(server.get("/jobs/a%2Fb") == "GET /jobs/a/b [a/b]");
  CHECK(server.get("/jobs/a%252Fb") == "GET /jobs/a%2Fb [a%2Fb]");
  CHECK(server.get("/cells/a%2fb/c") == "GET /cells/a/b/c [a/b] [c]");
  CHECK(server.status("GET", "/cells/a%2Fb") == 404);
  CHECK(server.status("GET", "/jobs%2F17") == 404);
}

TEST_CASE("a target in absolute form is matched by its path, and its host replaces the Host") {
  TestServer server;
  server.server.handle("GET", "/host", [](const Request& request, const Responder& responder) {
    std::string text = request.header("host").value_or("none");
    for (const auto& [name, value] : request.query) {
      text.append(" ").append(name).append("=").append(value);
    }
    responder.answer(plain(200, text));
  });
  server.server.handle("GET", "/", [](const Request&, const Responder& responder) {
    responder.answer(plain(200, "the root"));
  });
  server.start();
  const auto get = [&](const std::string& target) {
    return server.ask("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n")->body;
  };
  CHECK(get("http://other:80/host?a=1") == "other:80 a=1");
  CHECK(get("HTTPS://[::1]/host") == "[::1]");
  CHECK(get("/host?a=http://other/") == "x a=http://other/");
  CHECK(get("http://other") == "the root");
  CHECK(get("http://other?a=1") == "the root");
  CHECK(server.ask("GET http://other/host HTTP/1.0\r\n\r\n")->body == "other");
}

TEST_CASE("an unknown path gets a 404") {
  const JobServer server;
  for (const auto* path :
       {"/", "/jobs", "/jobs/", "/jobs/17/", "/jobs/17/x", "//jobs/17", "/cells//x", "/axb+c/(x)",
        "/JOBS/17", "/jobs/17%0A/x", "/jobs/%ff", "/jobs/%00"}) {
    INFO(path);
    CHECK(server.status("GET", path) == 404);
  }
  CHECK(server.status("GET", "/jobs/" + std::string(3000, '1')) == 404);
  CHECK(server.status("BREW", "/nowhere") == 404);
}

TEST_CASE("a wrong method on a known path gets a 405 that lists the right ones") {
  const JobServer server;
  for (const auto* method : {"POST", "PUT", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"}) {
    const auto answer = server.ask(request_text(method, "/jobs/17"));
    REQUIRE(answer);
    CHECK(answer->status == 405);
    CHECK(answer->headers.at("allow") == "DELETE, GET, HEAD");
  }
}

TEST_CASE("a refused method or path leaves the connection open") {
  const JobServer server;
  auto client = server.connect();
  REQUIRE(client.send(request_text("POST", "/jobs/17", "x") + request_text("POST", "/no", "x") +
                      request_text("GET", "/hello")));
  CHECK(client.receive()->status == 405);
  CHECK(client.receive()->status == 404);
  CHECK(client.receive()->status == 200);
}

TEST_CASE("an exact path takes precedence over a pattern, and its characters are literal") {
  const JobServer server;
  CHECK(server.get("/jobs/recent") == "the recent ones");
  CHECK(server.get("/a.b+c/(x)") == "GET /a.b+c/(x)");
}

TEST_CASE("matching preserves every byte of a segment") {
  Endpoints endpoints;
  endpoints.add("GET", "/{}", [](const Request&, const Responder&) {});
  endpoints.complete();
  for (int byte = 1; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    if (c == '/' || c == '%') continue;
    const std::string segment{'a', c, 'b'};
    const auto found = endpoints.find("GET", "/" + segment);
    REQUIRE(found.handler != nullptr);
    CHECK(found.captures == std::vector<std::string>{segment});
  }
}

}  // namespace
}  // namespace celld::http::test
