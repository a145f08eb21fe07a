#include "tests/torture/simulation/clockwork.hpp"

#include <algorithm>

namespace simulation {
namespace {

constexpr std::uint64_t starve_rarity = 60;
constexpr std::uint64_t starved_events_max = 200;
/// Longer than a commit, but shorter than the 100 ms of promise P8.
constexpr microseconds starved_time_max{40'000};
constexpr microseconds starved_pause_max{2000};
/// Keeps starvations apart, so that those of a chain of actors do not add up.
constexpr microseconds starved_interval{200'000};

/// Actors have the same ids in each run of a seed, but not the same addresses.
caf::actor_id id_of(caf::resumable* job) {
  const auto* actor = dynamic_cast<caf::scheduled_actor*>(job);
  return actor ? actor->id() : 0;
}

}  // namespace

bool Clockwork::event(Daemon& daemon) {
  auto& scheduler = daemon.scheduler();
  if (scheduler.jobs.empty()) {
    world_->check_idle_cells();
    if (!scheduler.has_pending_timeout()) return false;
    scheduler.trigger_timeout();
    update_time(daemon);
    world_->check_deadlines();
    return true;
  }
  if (scheduler.jobs.size() == 1 && is_starved(id_of(scheduler.jobs.front())) &&
      steady_ < starved_until_time_) {
    ++events_;
    advance(daemon, microseconds{world_->dice.below(starved_pause_max.count())});
    world_->check_deadlines();
    return true;
  }
  if (world_->dice.one_in(50)) advance(daemon, microseconds{world_->dice.below(2000)});
  const auto chosen = static_cast<std::ptrdiff_t>(choose(daemon));
  const auto first = scheduler.jobs.begin();
  std::rotate(first, first + chosen, first + chosen + 1);
  scheduler.run_once();
  ++events_;
  world_->check_deadlines();
  return true;
}

/// Chooses any actor with a message. Now and then it starves one actor for a while, even if no
/// other actor has anything to do, so that its messages wait longer than random choice would make
/// them.
std::size_t Clockwork::choose(Daemon& daemon) {
  const auto& jobs = daemon.scheduler().jobs;
  const std::size_t chosen = world_->dice.below(jobs.size());
  if (!world_->may(Fault::starvation)) return chosen;
  const caf::actor_id id = id_of(jobs[chosen]);
  if (world_->dice.one_in(starve_rarity)) {
    starved_ = id;
    starved_until_ = events_ + world_->dice.below(starved_events_max);
    const microseconds time{world_->dice.below(starved_time_max.count())};
    if (steady_ >= starved_until_time_ + starved_interval) starved_until_time_ = steady_ + time;
  }
  return is_starved(id) ? (chosen + 1) % jobs.size() : chosen;
}

bool Clockwork::is_starved(caf::actor_id id) const {
  return id == starved_ && events_ < starved_until_;
}

void Clockwork::advance(Daemon& daemon, microseconds by) {
  daemon.clock().advance_time(by);
  update_time(daemon);
}

void Clockwork::update_time(Daemon& daemon) {
  const SteadyTime before = steady_;
  steady_ = daemon.now();
  wall_ += std::chrono::duration_cast<microseconds>(steady_ - before);
  world_->now_steady = steady_;
  world_->now_wall = WallTime{std::chrono::duration_cast<milliseconds>(wall_)};
  world_->latest_wall = std::max(world_->latest_wall, world_->now_wall);
}

}  // namespace simulation
