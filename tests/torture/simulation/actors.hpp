// The simulated environment: providers that misbehave, a client, and an observer of job changes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tests/torture/simulation/plan.hpp"
#include "tests/torture/simulation/world.hpp"

namespace simulation {

struct ClientSubmit {
  JobRequest request;
};
/// From a client that has just read the job.
struct ClientCancel {
  JobPtr job;
};
struct ClientReopen {
  JobPtr job;
};
struct ClientResize {
  CellKey cell;
  std::optional<std::uint32_t> size;
};
struct ClientChangeQuota {
  CellKey cell;
  QuotaOverride quota;
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
struct WorkersTick {
  SteadyTime at{};
};
/// Ask for nothing more, and withdraw every request.
struct WorkersStop {};

struct ProducersTick {
  SteadyTime at{};
};
/// End what is being sent, and send nothing more.
struct ProducersStop {};
/// The daemon is about to shut down.
struct EndBatches {};

/// Remove every schedule.
struct SchedulesStop {};
/// The daemon is about to shut down.
struct DaemonStops {};

/// One line of a batch. Its parameters are unlike those of all others.
struct BatchLine {
  JobRequest request;
  bool is_good = true;  ///< The API can read it.
};

/// A client that sends one batch, if need be in several requests. Like its machine, it outlives the
/// daemon.
struct Producer {
  std::string name;
  std::vector<BatchLine> lines;
  bool has_keys = false;  ///< Each line has an idempotency key.
  std::size_t next = 0;   ///< The first line that was not acknowledged.
  bool is_sending = false;
  bool is_done = false;
};

/// All clients that send batches.
struct Producers {
  std::vector<Producer> each;
  std::function<std::uint64_t()> reading;  ///< How many batches the daemon reads.

  /// Whether more lines may be submitted, even once the producers have been told to stop: a batch
  /// waits when it comes too fast.
  bool are_sending() const {
    return (reading && reading() > 0) ||
           std::any_of(each.begin(), each.end(), [](const auto& one) { return one.is_sending; });
  }
};

/// A worker outside the daemon. Like its machine, it outlives the daemon.
struct Worker {
  WorkerPlan plan;
  std::map<Lease, LeaseOut> held{};  ///< Leases that it works on.
  std::size_t asking = 0;            ///< Unanswered requests for leases.
};

/// A lease that a worker has reported, for stale requests.
struct PastLease {
  Lease lease;
  JobId job = 0;
  bool succeeded = false;
};

/// All workers outside.
struct Workers {
  std::vector<Worker> each;
  std::deque<PastLease> past;
  std::uint64_t last_request = 0;
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
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientReopen)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientResize)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientChangeQuota)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientChangeState)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientReload)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientShutDown)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ClientAudit)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ProviderTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::WorkersTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::WorkersStop)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ProducersTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::ProducersStop)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::EndBatches)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::SchedulesStop)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::DaemonStops)

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

/// Workers outside, which speak to the engine as the API does for them
/// (src/http/api/lease_gateway.cpp). They work, send heartbeats and report in time; they also
/// stall, vanish, hang up, report late, twice and falsely, and ask for their leases after a crash.
/// Once the world is gentle, they only succeed.
caf::actor spawn_workers(caf::actor_system& system, std::shared_ptr<World> world,
                         CellDispatcher dispatcher, std::shared_ptr<Workers> workers,
                         std::shared_ptr<ClientState> state);

/// What batches need of the engine.
struct BatchEngine {
  CellDispatcher dispatcher;
  JobReader reader;
  JobStore store;
  celld::api::BatchLimits limits{};
  std::size_t firings_max = 0;
  std::size_t schedules_loaded_max = 0;
};

/// Clients that send batches in pieces to celld's own batch desk (src/http/api/batch_desk.cpp).
/// Their connections break, they go on where a batch ended, and those whose lines have idempotency
/// keys send them all again when they do not know what has become of them.
caf::actor spawn_producers(caf::actor_system& system, std::shared_ptr<World> world,
                           BatchEngine engine, std::shared_ptr<Producers> producers,
                           std::shared_ptr<ClientState> state);

/// celld's own schedule desk with these schedules.
caf::actor spawn_schedules(caf::actor_system& system, std::shared_ptr<World> world,
                           BatchEngine engine, const std::vector<SchedulePlan>& plans);

}  // namespace simulation
