// The engine of one incarnation of the daemon, under CAF's test coordinator.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include "tests/torture/simulation/actors.hpp"
#include "tests/torture/simulation/plan.hpp"

namespace simulation {

ServiceEntry service_entry(const std::shared_ptr<World>& world, const Plan& plan,
                           const std::string& name, const Configuration& configuration);

/// The driver decides when and in which order its actors run. Destruction is a power cut: nothing
/// more happens, and what was not committed is lost.
class Daemon {
 public:
  /// `workers` is null in a run without workers outside, `producers` in one without batches.
  Daemon(const std::shared_ptr<World>& world, const Plan& plan, const Configuration& configuration,
         std::uint64_t incarnation, SteadyTime start, const std::shared_ptr<Workers>& workers,
         const std::shared_ptr<Producers>& producers);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  caf::scheduler::test_coordinator& scheduler() { return scheduler_; }
  caf::detail::test_actor_clock& clock() { return scheduler_.clock(); }
  SteadyTime now() {
    return SteadyTime{
        std::chrono::duration_cast<microseconds>(clock().current_time.time_since_epoch())};
  }

  template <class Message>
  void send_client(Message message) {
    caf::anon_send(client_, std::move(message));
  }
  const ClientState& client_state() const { return *client_state_; }
  void reload(Reconfigure order, milliseconds keep);
  /// Whether a reload has taken effect since the last call.
  bool take_reloaded() { return std::exchange(client_state_->reloaded, false); }
  void audit();
  /// Has the workers outside withdraw what they wait for, and stop.
  void stop_workers();
  /// Has the clients that send batches end what they are sending, and stop.
  void stop_producers();
  /// Has the schedules removed.
  void stop_schedules();
  /// As the real daemon does before it shuts down its engine.
  void prepare_shutdown();

  bool dispatcher_alive() const { return *dispatcher_alive_; }

 private:
  static caf::actor_system_config& configure(caf::actor_system_config& config);

  std::shared_ptr<World> world_;
  caf::actor_system_config config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  caf::actor_addr store_;
  caf::actor_addr retention_;
  caf::actor_addr watcher_;
  caf::actor_addr dispatcher_;
  std::shared_ptr<bool> dispatcher_alive_ = std::make_shared<bool>(true);
  caf::actor client_;
  caf::actor workers_;
  caf::actor producers_;
  caf::actor schedules_;
  caf::actor_addr reader_;
  std::shared_ptr<ClientState> client_state_ = std::make_shared<ClientState>();
};

}  // namespace simulation
