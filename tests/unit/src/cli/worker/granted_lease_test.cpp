#include "src/cli/worker/granted_lease.hpp"

#include <cstdint>
#include <string>

#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::cli;

namespace {

json::Value a_lease() {
  return json::Value::parse(R"({
      "lease": "GiCc", "expires_in_ms": 10000, "deadline": "2026-11-23T18:55:10.680Z",
      "service": "vm", "attempt": 2, "undo": false, "idempotency_key": "1m84w5wj00000.vm",
      "traceparent": null,
      "job": {"id": "1m84w5wj00000", "state": "running", "customer": "acme", "product": "vps",
              "action": "create", "entity": {"type": "vm", "id": "vm-1"}, "services": ["vm"],
              "parameters": {"size": 3}, "properties": {"rack": "b"}, "labels": {}}})");
}

}  // namespace

TEST_CASE("a lease is read with the document of a command provider") {
  const auto leases = read_leases(json::Value::array({a_lease()}));
  REQUIRE(leases.size() == 1);
  const GrantedLease& lease = leases.front();
  CHECK(lease.name == "GiCc");
  CHECK(lease.job == "1m84w5wj00000");
  CHECK(lease.service == "vm");
  CHECK(lease.attempt == 2);
  CHECK(lease.idempotency_key == "1m84w5wj00000.vm");
  CHECK(lease.traceparent.empty());
  CHECK(lease.expires_in == milliseconds(10'000));
  CHECK(lease.document == R"({"job":"1m84w5wj00000","attempt":2,"customer":"acme","product":"vps",)"
                          R"("action":"create","entity":{"id":"vm-1","type":"vm"},"service":"vm",)"
                          R"("parameters":{"size":3},"properties":{"rack":"b"}})");
}

TEST_CASE("a trace context is passed on") {
  auto lease = a_lease();
  lease["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  CHECK(read_leases(json::Value::array({lease})).front().traceparent ==
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
}

TEST_CASE("an element that is no lease is skipped") {
  auto nameless = a_lease();
  nameless.erase("lease");
  auto jobless = a_lease();
  jobless["job"] = 7;
  CHECK(read_leases(json::Value::array({nameless, jobless, 1, nullptr})).empty());
  CHECK(read_leases(json::Value()).empty());
}

TEST_CASE("a term is at most a year, and an answer says whether the job was cancelled") {
  const auto term_of = [](const json::Value& answer) { return read_term(answer).expires_in; };
  CHECK(term_of({{"expires_in_ms", 30'000}}) == milliseconds(30'000));
  CHECK(term_of({{"expires_in_ms", INT64_MAX}}) == std::chrono::days(365));
  for (const json::Value& none : {json::Value(-1), json::Value(INT64_MIN), json::Value(UINT64_MAX),
                                  json::Value(1.5), json::Value("1"), json::Value()})
    CHECK(term_of({{"expires_in_ms", none}}) == milliseconds(0));
  auto lease = a_lease();
  lease["expires_in_ms"] = INT64_MAX;
  CHECK(read_leases(json::Value::array({lease})).front().expires_in == std::chrono::days(365));
  CHECK(read_term({{"cancel", true}}).cancel);
  CHECK_FALSE(read_term({{"cancel", 1}}).cancel);
  CHECK_FALSE(read_term({}).cancel);
}

TEST_CASE("a number beyond 64 bits with a sign is no attempt") {
  auto lease = a_lease();
  lease["attempt"] = UINT64_MAX;
  CHECK(read_leases(json::Value::array({lease})).front().attempt == 0);
}
