// The request bodies of workers outside: what they ask for, and what they report.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cells/ports/provider.hpp"
#include "src/http/api/problem.hpp"
#include "src/http/server.hpp"

namespace celld::api {

/// POST /v1/services/{service}/leases
struct LeaseOrder {
  std::string worker;
  std::size_t max = 1;
  cells::milliseconds wait{0};
};
std::variant<LeaseOrder, Problem> parse_lease_order(const http::Request& request);

/// POST /v1/leases/{lease}/heartbeat
struct Heartbeat {
  std::optional<double> progress;
  std::string message;  ///< Empty: none.
};
std::variant<Heartbeat, Problem> parse_heartbeat(const http::Request& request);

// POST /v1/leases/{lease}/complete and …/fail. Their messages have no time and no service yet.
std::variant<cells::CallOutcome, Problem> parse_completion(const http::Request& request);
std::variant<cells::CallOutcome, Problem> parse_failure(const http::Request& request);

/// POST /v1/leases/report
struct Report {
  std::string lease;                          ///< As named in the request.
  std::optional<cells::CallOutcome> outcome;  ///< None: the report has faults.
  std::vector<json::Fault> faults{};          ///< The first ones. The pointers start at the body.
};
std::variant<std::vector<Report>, Problem> parse_reports(const http::Request& request);

}  // namespace celld::api
