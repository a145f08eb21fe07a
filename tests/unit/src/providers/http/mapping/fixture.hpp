// Mappings for tests.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/providers/http/mapping/read.hpp"
#include "src/providers/http/mapping/request.hpp"
#include "tests/unit/catch.hpp"

namespace celld::test {

/// Variables that tests use as secrets.
inline config::Environment mapping_environment() {
  const auto read = [](const std::string& name) -> std::optional<std::string> {
    if (name == "KEY") return "s3cret/key+1";
    if (name == "LINES") return "two\nlines";
    return std::nullopt;
  };
  return {read, [](const std::string&) { return config::FileText{.fault = "cannot be read"}; }};
}

inline std::vector<json::Fault> mapping_faults(const json::Value& value) {
  std::vector<json::Fault> faults;
  providers::mappings::read_mapping(value, "/m", mapping_environment(), faults);
  return faults;
}

inline providers::mappings::Mapping a_mapping(const json::Value& value) {
  std::vector<json::Fault> faults;
  auto mapping = providers::mappings::read_mapping(value, "/m", mapping_environment(), faults);
  for (const auto& fault : faults) FAIL(fault.pointer << ": " << fault.detail);
  return mapping;
}

/// A mapping whose action `create` is one request, or several.
inline json::Value creating(const json::Value& requests) {
  return {{"secrets", {{"key", "env:KEY"}}}, {"actions", {{"create", requests}}}};
}

inline json::Value job_document() {
  return json::Value::parse(R"({
    "job": "1m82z1sgm0000", "attempt": 1, "customer": "acme", "product": "dns",
    "action": "create", "entity": {"type": "zone", "id": "example.com"}, "service": "dns",
    "parameters": {"ttl": 300, "kind": "Native", "list": [1, 2], "odd": "a/b \"c\"\n", "no": null,
                   "dots": "..", "empty": "", "object": {"a": {"b": [true, null]}}},
    "properties": {"ip": "192.0.2.1"}})");
}

}  // namespace celld::test
