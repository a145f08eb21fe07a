// The URL of an operation, in the answer that began it.
#include "src/providers/http/operation_url.hpp"

#include "tests/unit/catch.hpp"

namespace celld::providers {
namespace {

const std::string service = "http://cloud.example/v1";
const std::string request = "http://cloud.example/v1/machines?dry=no";

std::variant<std::string, NoOperationUrl> read_header(const std::string& value,
                                                      const std::string& of = service) {
  HttpResult result;
  result.kept_header = value;
  return read_operation_url({{}, "Location"}, result, of + "/machines?dry=no", of);
}

std::string url_of(const std::string& value, const std::string& of = service) {
  const auto read = read_header(value, of);
  const auto* url = std::get_if<std::string>(&read);
  return url == nullptr ? "none: " + std::get<NoOperationUrl>(read).text : *url;
}

std::string fault_in(const std::string& value, const std::string& of = service) {
  const auto read = read_header(value, of);
  const auto* none = std::get_if<NoOperationUrl>(&read);
  if (none == nullptr) return "the URL " + std::get<std::string>(read);
  CHECK_FALSE(none->is_missing);
  return none->text;
}

std::variant<std::string, NoOperationUrl> read_body(const std::string& body) {
  HttpResult result;
  result.body = body;
  return read_operation_url({{"links", "self"}, ""}, result, request, service);
}

}  // namespace

TEST_CASE("a reference is resolved against the URL of the request") {
  CHECK(url_of("http://cloud.example/ops/7") == "http://cloud.example/ops/7");
  CHECK(url_of("//cloud.example/ops/7") == "http://cloud.example/ops/7");
  CHECK(url_of("/ops/7?a=b&c=%2F#part") == "http://cloud.example/ops/7?a=b&c=%2F");
  CHECK(url_of("ops/7") == "http://cloud.example/v1/ops/7");
  CHECK(url_of("machines/7/./../8") == "http://cloud.example/v1/machines/8");
  CHECK(url_of("../../../ops") == "http://cloud.example/ops");
  CHECK(url_of("?op=7") == "http://cloud.example/v1/machines?op=7");
  CHECK(url_of("https://[::1]:8443/x", "https://[::1]:8443/v1") == "https://[::1]:8443/x");
}

TEST_CASE("a URL may spell the service's scheme, host and port in another way") {
  CHECK(url_of("HTTP://CLOUD.example:80/ops").ends_with(":80/ops"));
  CHECK(url_of("https://cloud.example/ops", "HTTPS://Cloud.Example:443/v1").ends_with("/ops"));
}

TEST_CASE("a URL of another scheme, host or port is refused") {
  const std::string answered = "answered with a URL of its operation at ";
  const std::string instead = " instead of http://cloud.example:80";
  CHECK(fault_in("http://evil.example/v1") == answered + "http://evil.example:80" + instead);
  CHECK(fault_in("//evil.example") == answered + "http://evil.example:80" + instead);
  CHECK(fault_in("http://cloud.example:81/") == answered + "http://cloud.example:81" + instead);
  CHECK(fault_in("https://cloud.example/") == answered + "https://cloud.example:443" + instead);
  CHECK(fault_in("http://cloud.example.evil.example/").starts_with(answered));
  CHECK(fault_in("http://cloud.example\\@evil.example/").starts_with("answered with a URL of"));
  for (const char* other : {"file:///etc/passwd", "ftp://cloud.example/", "http:/evil.example/",
                            "http:///evil.example/", "///evil.example/x"}) {
    INFO(other);
    const auto read = read_header(other);
    const auto* url = std::get_if<std::string>(&read);
    if (url != nullptr) CHECK(url->starts_with("http://cloud.example/"));
  }
}

TEST_CASE("a URL of the same address on another link is refused") {
  const std::string here = "http://[fe80::1%25eth0]/v1";
  CHECK(url_of("/ops/7", here) == "http://[fe80::1%25eth0]/ops/7");
  CHECK(fault_in("http://[fe80::1%25eth1]/ops/7", here) ==
        "answered with a URL of its operation at http://[fe80::1]%eth1:80 instead of "
        "http://[fe80::1]%eth0:80");
}

TEST_CASE("a URL with a user is refused") {
  for (const char* url : {"http://user@cloud.example/", "//user:password@cloud.example/"}) {
    CHECK(fault_in(url) == "answered with a URL of its operation that is malformed, or has a user");
  }
}

TEST_CASE("what is no URL is refused") {
  const std::string malformed = "answered with a URL of its operation that is malformed";
  for (const char* text : {"", "/a b", "/a\tb", "/\xC3\xA9", "/a, /b"}) {
    INFO(text);
    CHECK(fault_in(text) == malformed);
  }
  CHECK(fault_in("http://[::1").starts_with(malformed));
  const std::string longest(8192, 'a');
  CHECK(fault_in("/a" + longest) ==
        "answered with a URL of its operation that has more than 8 KiB");
  CHECK(fault_in(longest) == "answered with a URL of its operation that has more than 8 KiB");
}

TEST_CASE("the body has the URL at a pointer") {
  CHECK(std::get<std::string>(read_body(R"({"links": {"self": "/ops/7"}})")) ==
        "http://cloud.example/ops/7");
  const auto missing = std::get<NoOperationUrl>(read_body(R"({"links": {}})"));
  CHECK(missing.is_missing);
  CHECK(missing.text == "answered without `/links/self`, the URL of its operation");
  const auto not_json = std::get<NoOperationUrl>(read_body(""));
  CHECK(not_json.is_missing);
  CHECK(not_json.text == "answered with a body that is not JSON");
  const auto number = std::get<NoOperationUrl>(read_body(R"({"links": {"self": 7}})"));
  CHECK_FALSE(number.is_missing);
  CHECK(number.text ==
        "answered with a `/links/self`, the URL of its operation, that is not a string");
}

TEST_CASE("an answer may lack the header") {
  const auto read = read_operation_url({{}, "Location"}, HttpResult{}, request, service);
  CHECK(std::get<NoOperationUrl>(read).is_missing);
  CHECK(std::get<NoOperationUrl>(read).text ==
        "answered without the header `Location`, the URL of its operation");
}

TEST_CASE("the origin of a URL is compared with that of the service") {
  CHECK(origin_fault("http://cloud.example/ops/7", service).empty());
  CHECK(origin_fault("http://cloud.example/ops/7", "http://new.example/v1") ==
        "at http://cloud.example:80 instead of http://new.example:80");
}

}  // namespace celld::providers
