#include "src/cli/worker/granted_lease.hpp"

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
