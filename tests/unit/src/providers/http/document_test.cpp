// The requests to `http` providers, to the byte.
#include "src/providers/http/document.hpp"

#include <algorithm>

#include "src/providers/call_document.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/providers/call_fixture.hpp"

namespace celld::providers {
namespace {

using test::make_job;

cells::StartCall call_with_everything() {
  auto job = make_job(0x7fff'ffff'ffff'ffff, {"ipam", "dns"}, 1, 3);
  auto spec = *job->spec;
  spec.entity = {"zone", "primary", "exa\"mple.com"};
  spec.parameters = R"({"ttl": 300})";
  spec.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  job->spec = std::make_shared<const cells::JobSpec>(spec);
  job->properties = {{"ip", R"("192.0.2.1")"}, {"net\n", "[1,2]"}};
  return {{1, 2}, job, milliseconds{1234}};
}

bool contains(const std::vector<std::string>& lines, const std::string& line) {
  return std::count(lines.begin(), lines.end(), line) == 1;
}

}  // namespace

TEST_CASE("the document has every member, with values unchanged") {
  CHECK(call_document(*call_with_everything().job) ==
        R"({"job":"7zzzzzzzzzzzz","attempt":3,"customer":"acme","product":"dns",)"
        R"("action":"create","entity":{"type":"zone","subtype":"primary","id":"exa\"mple.com"},)"
        R"("service":"dns","parameters":{"ttl": 300},)"
        R"("properties":{"ip":"192.0.2.1","net\n":[1,2]}})");
}

TEST_CASE("the document leaves out an empty subtype and keeps empty objects") {
  CHECK(call_document(*make_job(1, {"dns"})) ==
        R"({"job":"0000000000001","attempt":1,"customer":"acme","product":"dns",)"
        R"("action":"create","entity":{"type":"zone","id":"example.com"},"service":"dns",)"
        R"("parameters":{},"properties":{}})");
}

TEST_CASE("the idempotency key is the same for every attempt and differs by step") {
  const std::vector<std::string> services{"ipam", "dns"};
  CHECK(idempotency_key(*make_job(1, services, 1, 1)) == "0000000000001.dns");
  CHECK(idempotency_key(*make_job(1, services, 1, 5)) == "0000000000001.dns");
  CHECK(idempotency_key(*make_job(1, services, 0, 1)) == "0000000000001.ipam");
}

TEST_CASE("the request has the call's headers beside the configured ones") {
  const HttpService service{"http://provider/", {{"X-API-Key", {"env:KEY", "s3cret"}}}};
  const auto request = call_request(service, call_with_everything());
  CHECK(request.url == "http://provider/");
  CHECK(request.timeout == milliseconds{1234});
  CHECK(contains(request.headers, "Content-Type: application/json"));
  CHECK(contains(request.headers, "Idempotency-Key: 7zzzzzzzzzzzz.dns"));
  CHECK(contains(request.headers,
                 "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  CHECK(contains(request.headers, "X-API-Key: s3cret"));
  CHECK(contains(request.headers, "Expect:"));
  CHECK(contains(request.headers, "User-Agent: celld"));
}

TEST_CASE("configured headers replace celld's defaults, but not what the call decides") {
  const HttpService service{"http://provider/",
                            {{"accept", {"text/json", "text/json"}},
                             {"idempotency-key", {"x", "x"}},
                             {"Content-Length", {"5", "5"}}}};
  const auto request = call_request(service, {{1, 1}, make_job(1, {"dns"}), milliseconds{1}});
  CHECK(contains(request.headers, "accept: text/json"));
  CHECK_FALSE(contains(request.headers, "Accept: application/json"));
  CHECK(contains(request.headers, "Idempotency-Key: 0000000000001.dns"));
  CHECK_FALSE(contains(request.headers, "idempotency-key: x"));
  CHECK_FALSE(contains(request.headers, "Content-Length: 5"));
}

TEST_CASE("the path of a mapped request follows the URL of its service after one slash") {
  const auto url = [](const char* of_service, const char* target) {
    mappings::Rendered rendered;
    rendered.method = "GET";
    rendered.target = target;
    return mapped_request({of_service, {}}, *make_job(1, {"dns"}), rendered, 0, milliseconds{1})
        .url;
  };
  CHECK(url("http://provider/api", "/zones") == "http://provider/api/zones");
  CHECK(url("http://provider/api/", "/zones") == "http://provider/api/zones");
  CHECK(url("http://provider/api/", "?a=b") == "http://provider/api/?a=b");
}

TEST_CASE("a header value cannot add a header") {
  CHECK(header_line("A", "b\r\nC: d") == "A: b  C: d");
  CHECK(header_line("A", "") == "A;");
}

}  // namespace celld::providers
