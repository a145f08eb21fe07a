// A worker outside celld: leases jobs of one service, and runs a command for each.
#pragma once

#include <string>

#include "src/cli/client.hpp"
#include "src/cli/worker/runs.hpp"

namespace celld::cli {

struct WorkerSettings {
  Connection connection;
  std::string service;
  RunSettings runs;
  bool quiet = false;
};

/// Works until SIGTERM or SIGINT, or until celld refuses to grant leases. The first signal ends
/// leasing, and the commands finish; the second ends the commands. Throws a Failure.
ExitCode run_worker(const WorkerSettings& settings);

}  // namespace celld::cli
