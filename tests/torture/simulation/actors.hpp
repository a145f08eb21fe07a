// The simulated environment: providers that misbehave, a client, and an observer of job changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/torture/simulation/world.hpp"

namespace simulation {

struct ClientSubmit {
  JobRequest request;
};
/// From a client that has just read the job.
struct ClientCancel {
  JobPtr job;
};
struct ClientRetry {
  JobPtr job;
};
struct ClientResize {
  CellKey cell;
  std::optional<std::uint32_t> size;
};
struct ClientChangeState {
  CellKey cell;
  CellState state;
};
struct ClientReload {
  Reconfigure order;
  milliseconds keep{};  ///< Retention of ended jobs.
};
struct ClientShutDown {
  milliseconds grace{};
};
/// Lists the cells.
struct ClientAudit {};
struct ProviderTick {
  SteadyTime at{};
};

/// The client's state, which the driver reads.
struct ClientState {
  std::uint64_t unanswered = 0;  ///< Pending requests.
  bool has_shut_down = false;
  bool reloading = false;
  bool reloaded = false;                         ///< Set by the client, reset by the driver.
  std::optional<std::vector<CellStatus>> cells;  ///< As last listed.
};

}  // namespace simulation

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientSubmit)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientCancel)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientRetry)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientResize)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientChangeState)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientReload)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientShutDown)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientAudit)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ProviderTick)

namespace simulation {

/// A provider whose calls take 0 to 1.5 times their timeout or never end. They succeed, fail in
/// every way, return garbage, or are aborted by the provider itself; an abort may take a while.
/// Once the world is gentle, calls only succeed, and quickly.
Provider spawn_provider(caf::actor_system& system, std::shared_ptr<World> world,
                        std::string service);

/// Receives job changes and reports to the world which job ends were announced.
JobObserver spawn_watcher(caf::actor_system& system, std::shared_ptr<World> world);

/// `listed_max` is the size of a page of cells.
caf::actor spawn_client(caf::actor_system& system, std::shared_ptr<World> world,
                        CellDispatcher dispatcher, Retention retention, std::size_t listed_max,
                        std::shared_ptr<ClientState> state);

}  // namespace simulation
