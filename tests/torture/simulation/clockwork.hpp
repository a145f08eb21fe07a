// Who runs next, and how time passes.
#pragma once

#include <cstdint>
#include <memory>

#include "tests/torture/simulation/daemon.hpp"
#include "tests/torture/simulation/world.hpp"

namespace simulation {

/// The virtual clocks, and the order of events. Goes on over incarnations of the daemon.
class Clockwork {
 public:
  explicit Clockwork(std::shared_ptr<World> world) : world_(std::move(world)) {}

  /// One message of one actor, chosen by the seed; or, when nobody has one, the next timer. False:
  /// there is neither.
  bool event(Daemon& daemon);

  void advance(Daemon& daemon, microseconds by);
  void jump_wall_clock(std::chrono::seconds by) { wall_ += by; }
  /// Tells the world what time it is.
  void tell_time(Daemon& daemon);

  SteadyTime steady() const { return steady_; }
  std::uint64_t events() const { return events_; }

 private:
  std::size_t choose(Daemon& daemon);
  bool is_starved(caf::actor_id id) const;

  std::shared_ptr<World> world_;
  SteadyTime steady_{std::chrono::hours{1}};
  microseconds wall_ = std::chrono::hours{24 * 20'000};
  std::uint64_t events_ = 0;
  caf::actor_id starved_ = 0;  ///< Does not get to run while anybody else can.
  std::uint64_t starved_until_ = 0;
  SteadyTime starved_until_time_{};  ///< Until then time passes for it.
};

}  // namespace simulation
