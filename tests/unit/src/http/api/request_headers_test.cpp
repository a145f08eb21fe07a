#include "src/http/api/request_headers.hpp"

#include <string>

#include "tests/unit/catch.hpp"

using namespace celld;
using std::chrono::seconds;

namespace {

http::Request with(std::vector<std::pair<std::string, std::string>> headers) {
  http::Request request;
  request.headers = std::move(headers);
  return request;
}

std::optional<seconds> wait(const std::string& prefer) {
  return api::preferred_wait(with({{"prefer", prefer}}));
}

}  // namespace

TEST_CASE("a body is JSON if its Content-Type says so") {
  for (const auto* type :
       {"application/json", "Application/JSON", "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"", "application/json ; x=\"a;b\""})
    CHECK(api::is_json(with({{"content-type", type}})));
  for (const auto* type :
       {"", "text/json", "application/x-www-form-urlencoded", "application/jsonx",
        "application/json; charset=latin1", "application/json, text/plain"})
    CHECK_FALSE(api::is_json(with({{"content-type", type}})));
  CHECK_FALSE(api::is_json(with({})));
}

TEST_CASE("a preferred wait is capped at one minute") {
  CHECK(wait("wait=10") == seconds(10));
  CHECK(wait("wait=0") == seconds(0));
  CHECK(wait("Wait = \"7\"") == seconds(7));
  CHECK(wait("respond-async, wait=5; x=y, wait=9") == seconds(5));
  CHECK(wait("handling=\"a,wait=3\", wait=4") == seconds(4));
  CHECK(wait(R"(handling="a\",wait=3", wait=4)") == seconds(4));
  CHECK(wait("wait=61") == seconds(60));
  CHECK(wait("wait=99999999999999999999999") == seconds(60));
  CHECK_FALSE(api::preferred_wait(with({})));
}

TEST_CASE("a malformed preference is ignored") {
  for (const auto* prefer : {"", "wait", "wait=", "wait=-1", "wait=1.5", "wait=x", "waits=1",
                             "wait=\"1", "wait=1 0", ",;=\"\\", "wait=0x10"})
    CHECK_FALSE(wait(prefer));
}

TEST_CASE("a host is a domain unless it is an address, a single label, or under localhost") {
  const auto domain = [](const std::string& host) {
    return api::names_a_domain(with({{"host", host}}));
  };
  for (const char* host : {"evil.example", "evil.example:8080", "Evil.Example.", "a.b:1"})
    CHECK(domain(host));
  for (const char* host : {"localhost", "LOCALHOST:8080", "celld", "127.0.0.1", "127.0.0.1:8080",
                           "[::1]", "[::1]:8080", "a.localhost:80", "localhost.", ""})
    CHECK_FALSE(domain(host));
  CHECK_FALSE(api::names_a_domain(with({})));
}

TEST_CASE("a page of another origin is foreign") {
  const auto foreign = [](const std::string& origin) {
    return api::is_foreign(with({{"host", "Localhost:8080"}, {"origin", origin}}));
  };
  CHECK_FALSE(foreign("http://localhost:8080"));
  CHECK_FALSE(foreign("https://LOCALHOST:8080"));
  for (const auto* origin : {"null", "", "http://evil.example", "http://localhost",
                             "http://localhost:8081", "http://localhost:8080.evil.example"})
    CHECK(foreign(origin));
  CHECK_FALSE(api::is_foreign(with({{"host", "localhost"}})));
  CHECK(api::is_foreign(with({{"origin", "http://"}})));
}
