// Delivers heartbeats and reports to celld.
#pragma once

#include "src/cli/worker/lease_client.hpp"
#include "src/cli/worker/runs.hpp"

namespace celld::cli {

class Deliverer {
 public:
  Deliverer(LeaseClient& client, Runs& runs, const WorkerLog& log)
      : client_(client), runs_(runs), log_(log) {}

  /// Returns when leasing has ended and no lease is left.
  void run();

 private:
  void deliver(const Runs::Heartbeat& heartbeat);
  void deliver(const Runs::Reports& reports);
  /// celld cannot read the request with these reports. Sends them in halves, again and again if
  /// need be, so that an unreadable report does not hold back the others.
  void deliver_apart(const Runs::Reports& reports);
  void note_answer();
  void note_setback(const Setback& setback);

  LeaseClient& client_;
  Runs& runs_;
  const WorkerLog& log_;
  bool away_ = false;
};

}  // namespace celld::cli
