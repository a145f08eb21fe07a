// The simulated outside: providers that misbehave, a client, and one who watches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/torture/simulation/world.hpp"

namespace simulation {

struct ClientSubmit {
  JobRequest request;
};
/// As a client who has just read the job.
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
};
struct ClientShutDown {
  milliseconds grace{};
};
/// List the cells.
struct ClientAudit {};
struct ProviderTick {
  SteadyTime at{};
};

/// What the client has seen; read by the driver.
struct ClientState {
  std::uint64_t unanswered = 0;  ///< Questions.
  bool has_shut_down = false;
  bool reloading = false;
  bool reloaded = false;                         ///< And not yet noticed by the driver.
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

/// A provider whose calls take 0 to 1.5 times their timeout or for ever, and succeed, fail in every
/// way, answer nonsense, or are ended by the provider itself; an abort may take a while. In a
/// gentle world it only succeeds, soon.
Provider spawn_provider(caf::actor_system& system, std::shared_ptr<World> world,
                        std::string service);

/// Hears of changes, and passes on of which job the end was told.
JobObserver spawn_watcher(caf::actor_system& system, std::shared_ptr<World> world);

caf::actor spawn_client(caf::actor_system& system, std::shared_ptr<World> world,
                        CellDispatcher dispatcher, std::shared_ptr<ClientState> state);

}  // namespace simulation
