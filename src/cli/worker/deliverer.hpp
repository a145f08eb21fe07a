// Delivers heartbeats and reports to celld.
#pragma once

#include <atomic>

#include "src/cli/worker/lease_client.hpp"
#include "src/cli/worker/runs.hpp"

namespace celld::cli {

/// Thread-safe.
class Deliverer {
 public:
  Deliverer(Runs& runs, const WorkerLog& log) : runs_(runs), log_(log) {}

  /// Each thread that calls this has a client of its own, and delivers one request at a time.
  /// Returns when leasing has ended and no lease is left.
  void run(LeaseClient& client);

 private:
  void deliver(LeaseClient& client, const Runs::Heartbeat& heartbeat);
  void deliver(LeaseClient& client, const Runs::Reports& reports);
  /// celld cannot read the request with these reports. Sends them in halves, again and again if
  /// need be, so that an unreadable report does not hold back the others.
  void deliver_apart(LeaseClient& client, const Runs::Reports& reports, const std::string& reason);
  void note_answer();
  void note_setback(const Setback& setback);

  Runs& runs_;
  const WorkerLog& log_;
  std::atomic<bool> away_ = false;
};

}  // namespace celld::cli
