// Chooses the actor that runs next, and lets time pass.
#pragma once

#include <cstdint>
#include <memory>

#include "tests/torture/simulation/daemon.hpp"
#include "tests/torture/simulation/world.hpp"

namespace simulation {

/// The virtual clocks and the order of events. It outlives incarnations of the daemon.
class Clockwork {
 public:
  explicit Clockwork(std::shared_ptr<World> world) : world_(std::move(world)) {}

  /// Runs one actor, chosen by the seed, for one message; or, if no actor has a message, fires the
  /// next timer. False: there is neither.
  bool event(Daemon& daemon);

  void advance(Daemon& daemon, microseconds by);
  void jump_wall_clock(std::chrono::seconds by) { wall_ += by; }
  /// Passes the current time to the world.
  void update_time(Daemon& daemon);

  SteadyTime steady() const { return steady_; }
  std::uint64_t events() const { return events_; }

 private:
  std::size_t choose(Daemon& daemon);
  bool is_starved(caf::actor_id id) const;

  std::shared_ptr<World> world_;
  SteadyTime steady_{std::chrono::hours{1}};
  microseconds wall_ = std::chrono::hours{24 * 20'000};
  std::uint64_t events_ = 0;
  caf::actor_id starved_ = 0;  ///< Does not run while another actor can.
  std::uint64_t starved_until_ = 0;
  SteadyTime starved_until_time_{};  ///< Until then, time may pass for it.
};

}  // namespace simulation
