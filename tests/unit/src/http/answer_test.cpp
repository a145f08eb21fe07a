// The text of an answer.
#include "src/http/answer.hpp"

#include <string>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::http::test {
namespace {

TEST_CASE("an answer begins with its status and the reason phrase of that status") {
  for (const std::string status : {"200 OK",
                                   "201 Created",
                                   "202 Accepted",
                                   "204 No Content",
                                   "206 Partial Content",
                                   "301 Moved Permanently",
                                   "302 Found",
                                   "303 See Other",
                                   "304 Not Modified",
                                   "307 Temporary Redirect",
                                   "308 Permanent Redirect",
                                   "400 Bad Request",
                                   "401 Unauthorized",
                                   "403 Forbidden",
                                   "404 Not Found",
                                   "405 Method Not Allowed",
                                   "406 Not Acceptable",
                                   "408 Request Timeout",
                                   "409 Conflict",
                                   "410 Gone",
                                   "411 Length Required",
                                   "412 Precondition Failed",
                                   "413 Content Too Large",
                                   "414 URI Too Long",
                                   "415 Unsupported Media Type",
                                   "422 Unprocessable Content",
                                   "429 Too Many Requests",
                                   "431 Request Header Fields Too Large",
                                   "500 Internal Server Error",
                                   "502 Bad Gateway",
                                   "503 Service Unavailable",
                                   "504 Gateway Timeout",
                                   "505 HTTP Version Not Supported",
                                   "599 Unknown"}) {
    const auto message = serialise(plain(std::stoi(status), ""), {});
    CHECK(message.substr(0, message.find("\r\n")) == "HTTP/1.1 " + status);
  }
}

TEST_CASE("answers of one thread have the date of their own second") {
  const auto message = [] { return serialise(plain(200, ""), {}); };
  const auto first = message();
  CHECK(eventually([&] { return message() != first; }));
}

}  // namespace
}  // namespace celld::http::test
