// A worker's requests to celld.
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/cli/client.hpp"
#include "src/cli/worker/granted_lease.hpp"
#include "src/cli/worker/leased_run.hpp"

namespace celld::cli {

/// Why a request did not succeed.
struct Setback {
  enum class Kind {
    away,     ///< No answer from celld, 429 or 5xx: the same request may succeed later.
    lost,     ///< celld says that the lease is not live, or not this worker's (404, 409).
    invalid,  ///< The request itself: celld would refuse it again (400, 413, 422).
    refused,  ///< Any other answer.
  };
  Kind kind = Kind::away;
  std::string text;
  std::optional<milliseconds> retry_after;
  ExitCode code = ExitCode::unavailable;
};

/// For one thread.
class LeaseClient {
 public:
  /// Throws a Failure when `connection` is invalid.
  LeaseClient(const Connection& connection, std::string service, std::string worker);

  using Leases = std::variant<std::vector<GrantedLease>, Setback>;
  /// Waits for jobs, at most `wait`, or until `stop` is requested. After a stop, celld may have
  /// granted leases that this call does not return; `held` returns them.
  Leases lease(std::size_t max, milliseconds wait, const std::stop_token& stop);
  /// The live leases of this service and worker.
  Leases held(const std::stop_token& stop = {});

  std::variant<LeaseTerm, Setback> heartbeat(const std::string& lease, const std::string& body);

  struct ReportResult {
    int status = 0;
    std::string faults;  ///< Of the report, if celld has found any.
  };
  /// The result of each report, in their order.
  std::variant<std::vector<ReportResult>, Setback> report(const std::vector<std::string>& reports);

 private:
  std::variant<json::Value, Setback> ask(const Request& request);

  Client client_;
  const std::string service_;
  const std::string worker_;
};

}  // namespace celld::cli
