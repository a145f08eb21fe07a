// A lease as celld grants and extends it, and what its command receives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/cli/time_words.hpp"
#include "src/json/json.hpp"

namespace celld::cli {

struct GrantedLease {
  std::string name;
  std::string job;
  std::string service;
  std::int64_t attempt = 0;
  std::string idempotency_key;
  std::string traceparent;    ///< Empty: the job has none.
  milliseconds expires_in{};  ///< 0 to a year.
  std::string document;       ///< JSON for standard input: what a `command` provider receives.
};

/// celld's answer to a heartbeat.
struct LeaseTerm {
  milliseconds expires_in{};  ///< 0 to a year.
  bool cancel = false;
};

/// Reads the `leases` or `items` of a response. Skips elements without the name of a lease or
/// without a job.
std::vector<GrantedLease> read_leases(const json::Value& elements);

LeaseTerm read_term(const json::Value& answer);

}  // namespace celld::cli
