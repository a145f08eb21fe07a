// How a `simulated` service is configured.
#include "src/providers/simulated/kind.hpp"

#include <string_view>
#include <vector>

#include "tests/unit/catch.hpp"

namespace celld::providers {
namespace {

/// Reads a service from its members, and shows it.
json::Value shown(const json::Value& members) {
  std::vector<json::Fault> faults;
  json::ObjectReader reader(members, "", faults);
  const auto settings = simulated_kind().read(reader, config::process_environment(), faults);
  reader.finish();
  for (const auto& fault : faults) FAIL(fault.pointer << ": " << fault.detail);
  return settings->show();
}

}  // namespace

TEST_CASE("a simulated service may have the least and the greatest of each number") {
  for (const std::string_view text :
       {R"({"latency_ms": {"min": 0, "max": 0}, "failure_rate": 0, "seed": 0,
            "undo": {"failure_rate": 0}})",
        R"({"latency_ms": {"min": 3600000, "max": 3600000}, "failure_rate": 1,
            "seed": 9223372036854775807, "undo": {"failure_rate": 1}})"}) {
    const auto members = json::Value::parse(text);
    CHECK(shown(members) == members);
  }
}

TEST_CASE("an undo without a failure rate fails as often as the service") {
  const auto service = shown(json::Value::parse(R"({"failure_rate": 0.5, "undo": {}})"));
  CHECK(service["undo"]["failure_rate"] == 0.5);
}

}  // namespace celld::providers
