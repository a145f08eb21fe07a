#include "tests/torture/simulation/run.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "tests/torture/simulation/clockwork.hpp"
#include "tests/torture/simulation/daemon.hpp"
#include "tests/torture/simulation/plan.hpp"
#include "tests/torture/simulation/world.hpp"

namespace simulation {
namespace {

/// After the faults, all jobs must end within these bounds.
constexpr int quiet_steps_max = 400'000;
constexpr std::chrono::minutes quiet_time_max{5};
constexpr int audits_max = 50;
constexpr int shutdown_steps_max = 50'000;
constexpr milliseconds shutdown_allowance{1000};  ///< In addition to the grace period.
/// In a run with lulls, one event in this many begins one.
constexpr std::uint64_t lull_rarity = 400;

/// Separate random streams, so that a different plan changes neither the workload nor the faults.
enum class Stream : std::uint64_t { plan = 1, workload = 2, faults = 3 };
std::uint64_t seed_of(std::uint64_t seed, Stream stream) {
  return seed * 4 + static_cast<std::uint64_t>(stream);
}

/// The bit in which the seed of the rates differs, so that their dice are unlike all others of any
/// run. With this bit, the seed that finds the rarest planted bug draws no rates.
constexpr std::uint64_t apart = std::uint64_t{1} << 57;
/// The same for the pace of clients.
constexpr std::uint64_t further_apart = std::uint64_t{1} << 58;

/// The weights of the faults that happen at a given moment.
constexpr std::pair<Fault, std::uint64_t> moments[] = {
    {Fault::crash, 4},      {Fault::store_error, 2},  {Fault::kill_dispatcher, 4},
    {Fault::kill_pool, 4},  {Fault::kill_worker, 10}, {Fault::kill_provider, 4},
    {Fault::kill_cell, 1},  {Fault::clock_jump, 4},   {Fault::shut_down, 4},
    {Fault::cell_state, 8}, {Fault::resize, 24},      {Fault::reload, 11},
    {Fault::quotas, 6}};

Fault draw_moment(Dice& dice) {
  std::uint64_t sum = 0;
  for (const auto& [fault, weight] : moments) sum += weight;
  std::uint64_t die = dice.below(sum);
  for (const auto& [fault, weight] : moments) {
    if (die < weight) return fault;
    die -= weight;
  }
  return Fault::crash;
}

std::shared_ptr<Producers> producers_of(const Plan& plan) {
  auto producers = std::make_shared<Producers>();
  for (const auto& planned : plan.producers) {
    Producer producer;
    producer.name = "producer " + std::to_string(producers->each.size());
    producer.has_keys = planned.has_keys;
    for (std::size_t i = 0; i < planned.lines.size(); ++i) {
      producer.lines.push_back({planned.lines[i], !planned.broken.contains(i)});
    }
    producers->each.push_back(std::move(producer));
  }
  return producers;
}

/// Drives one run.
class Driver {
 public:
  Driver(std::uint64_t seed, const Caps& caps, bool keep_trace)
      : world_(std::make_shared<World>(seed_of(seed, Stream{}))),
        workload_(seed_of(seed, Stream::workload)),
        faults_(seed_of(seed, Stream::faults)),
        pace_(~seed_of(seed, Stream::plan) ^ further_apart),
        clockwork_(world_) {
    Dice dice{seed_of(seed, Stream::plan)};
    Dice outside{~seed_of(seed, Stream::plan)};
    Dice batches{~seed_of(seed, Stream::workload)};
    Dice protection{~seed_of(seed, Stream::faults)};
    Dice compensation{~seed_of(seed, Stream{})};
    Dice schedules{seed_of(~seed, Stream::plan)};
    Dice sharing{seed_of(~seed, Stream::faults)};
    Dice quotas{seed_of(~seed, Stream::workload)};
    Dice desks{~seed_of(~seed, Stream::plan)};
    Dice rates{seed_of(seed, Stream::plan) ^ apart};
    plan_ = draw_plan(dice, outside, batches, protection, compensation, schedules, sharing, quotas,
                      desks, rates, pace_, caps);
    world_->shares = !plan_.without.contains(Fault::sharing);
    if (!plan_.pulled.empty()) {
      workers_ = std::make_shared<Workers>();
      for (const auto& worker : plan_.workers) workers_->each.push_back({worker});
    }
    if (!plan_.producers.empty()) producers_ = producers_of(plan_);
    configuration_ = full_configuration(plan_);
    world_->keep_trace = keep_trace;
    world_->settle = plan_.settle;
    world_->without = plan_.without;
    world_->only = caps.only;
    world_->window_max = window_max(plan_.window);
    world_->instances_max = plan_.instances_max;
    world_->call_times = plan_.call_times;
  }

  RunResult run() {
    start_daemon();
    while (clockwork_.events() < plan_.fault_events && sound()) {
      interfere();
      step(milliseconds{1 + faults_.below(500)});
      restart_if_over();
    }
    while (jobs_left() && sound()) {
      submit();
      step(milliseconds{1});
    }
    finish_all_jobs();
    RunResult result{world_->trace_hash, clockwork_.events(),
                     world_->calls,      world_->accepted_jobs.size(),
                     crashes_,           stops_,
                     world_->violations, world_->trace};
    daemon_.reset();
    return result;
  }

 private:
  bool sound() const { return world_->violations.empty(); }
  bool jobs_left() const { return submitted_ < plan_.jobs; }

  void start_daemon() {
    daemon_.emplace(world_, plan_, configuration_, ++incarnation_, clockwork_.steady(), workers_,
                    producers_);
    clockwork_.update_time(*daemon_);
    daemon_->audit();
    over_in_.reset();
    stopping_ = false;
  }

  /// Runs one event; without one, lets some time pass.
  void step(microseconds pause) {
    if (!clockwork_.event(*daemon_)) clockwork_.advance(*daemon_, pause);
  }

  /// Now and then sends a client request or injects a fault.
  void interfere() {
    if (!clients_rest()) {
      if (jobs_left() && workload_.one_in(plan_.submit_rarity)) submit();
      if (workload_.one_in(100)) cancel_or_reopen();
    }
    if (workload_.one_in(300)) daemon_->audit();
    if (faults_.one_in(plan_.fault_rarity)) inject(draw_moment(faults_));
  }

  // --- The end ---------------------------------------------------------------------------------

  /// The faults are over. Checks that every job ends, even in cells that drain, and that nothing is
  /// left behind.
  void finish_all_jobs() {
    world_->gentle = true;
    world_->commit_fails = world_->operation_fails = false;
    if (is_ending()) restart();
    daemon_->stop_producers();
    daemon_->stop_schedules();
    await_reload();
    reload(full_configuration(plan_));
    await_reload();
    for (const auto& cell : overridable_cells()) {
      change_state(cell, faults_.one_in(4) ? CellState::draining : CellState::active);
    }
    const SteadyTime latest = latest_finish();
    for (int i = 0; sound() && !all_ended(); ++i) {
      if (i == quiet_steps_max || clockwork_.steady() > latest) break;
      step(milliseconds{100});
    }
    daemon_->stop_workers();
    if (sound()) world_->check_all_ended();
    if (sound()) world_->check_share_accepted();
    for (int i = 1; sound() && i <= audits_max; ++i) {
      const std::string problem = audit();
      if (problem.empty()) break;
      if (i == audits_max) world_->violated(Check::final_state, problem);
      for (int j = 0; j < 100; ++j) step(milliseconds{10});
    }
    for (int i = 0; sound() && daemon_->client_state().unanswered > 0; ++i) {
      if (i == quiet_steps_max) {
        world_->violated(Check::unanswered, "a client receives no answer");
        break;
      }
      step(milliseconds{100});
    }
  }

  /// Whether every job on the disk has ended, and no other will be submitted: until a schedule is
  /// removed, it may be about to submit one.
  bool all_ended() const {
    const auto& jobs = world_->disk->jobs();
    return world_->disk->content().schedules.empty() && !world_->awaits_submission() &&
           !(producers_ && producers_->are_sending()) &&
           std::all_of(jobs.begin(), jobs.end(),
                       [](const auto& item) { return is_ended(item.second.job->state); });
  }

  /// Allows more time if the wall clock has jumped back, since jobs are then due later.
  SteadyTime latest_finish() const {
    return clockwork_.steady() + quiet_time_max + (world_->latest_wall - world_->now_wall);
  }

  std::string audit() {
    daemon_->audit();
    for (int i = 0; i < quiet_steps_max && !daemon_->client_state().cells; ++i) {
      step(milliseconds{100});
    }
    if (!daemon_->client_state().cells) return "the list of cells is missing";
    return world_->problem_in(*daemon_->client_state().cells);
  }

  // --- Workload --------------------------------------------------------------------------------

  /// Whether there is a lull. It ends with a rush.
  bool clients_rest() {
    if (!plan_.rush) return false;
    if (!rest_until_) {
      if (!pace_.one_in(lull_rarity)) return false;
      rest_until_ = clockwork_.steady() + std::chrono::seconds{10 + pace_.below(50)};
      world_->note("a lull");
    } else if (clockwork_.steady() >= *rest_until_) {
      rest_until_.reset();
      for (std::uint64_t i = 0; i < *plan_.rush; ++i) submit();
    }
    return rest_until_.has_value();
  }

  void submit() {
    submitted_ += 1;
    daemon_->send_client(ClientSubmit{draw_request(plan_, workload_, world_->now_wall)});
  }

  /// A client cancels or reopens a random job.
  void cancel_or_reopen() {
    const auto& jobs = world_->disk->jobs();
    if (jobs.empty()) return;
    const auto chosen =
        std::next(jobs.begin(), static_cast<std::ptrdiff_t>(workload_.below(jobs.size())));
    const JobPtr job = chosen->second.job;
    const bool odd = workload_.one_in(10);
    const bool cancel = is_ended(job->state) ? odd : !odd;
    if (!world_->may(cancel ? Fault::cancel : Fault::reopen)) return;
    if (cancel) {
      daemon_->send_client(ClientCancel{job});
    } else {
      daemon_->send_client(ClientReopen{job});
    }
  }

  // --- Faults ----------------------------------------------------------------------------------

  void inject(Fault fault) {
    if (!world_->may(fault)) return;
    switch (fault) {
      case Fault::crash:
        world_->note("power cut");
        restart();
        break;
      case Fault::store_error:
        (faults_.one_in(2) ? world_->operation_fails : world_->commit_fails) = true;
        break;
      case Fault::kill_dispatcher:
        kill_one("dispatcher");
        break;
      case Fault::kill_pool:
        kill_one("pool");
        break;
      case Fault::kill_worker:
        kill_one("worker");
        break;
      case Fault::kill_provider:
        kill_one("provider");
        break;
      case Fault::kill_cell:
        if (kill_one(faults_.one_in(2) ? "cell" : "service")) world_->dying();
        break;
      case Fault::clock_jump:
        jump_clock();
        break;
      case Fault::shut_down:
        if (!stopping_) shut_down_and_restart();
        break;
      case Fault::cell_state:
        change_state(draw_cell(faults_), static_cast<CellState>(faults_.below(3)));
        break;
      case Fault::resize:
        resize();
        break;
      case Fault::quotas:
        change_quota();
        break;
      case Fault::reload:
        reload(draw_configuration(plan_, faults_));
        break;
      default:  // The other faults happen continuously.
        break;
    }
  }

  /// Ends an actor as an exception in one of its handlers would.
  bool kill_one(const std::string& role) {
    auto& actors = world_->actors[role];
    std::erase_if(actors, [](const LiveActor& actor) {
      return caf::actor_cast<caf::strong_actor_ptr>(actor.address) == nullptr;
    });
    if (actors.empty()) return false;
    const LiveActor& chosen = faults_.one_of(actors);
    world_->note("kill a " + role + " of " + to_string(chosen.cell));
    if (role == "provider") {
      world_->provider_killed(chosen.address.id(), chosen.cell.customer);
    } else {
      world_->disturbed(chosen.cell);
      if (role == "dispatcher") world_->dispatcher_killed(chosen.cell);
    }
    caf::anon_send_exit(chosen.address, caf::exit_reason::unhandled_exception);
    return true;
  }

  void jump_clock() {
    const auto by = std::chrono::seconds{faults_.below(60)} * (faults_.one_in(2) ? 1 : -1);
    world_->clock_jumped(std::to_string(by.count()) + " s");
    clockwork_.jump_wall_clock(by);
    clockwork_.update_time(*daemon_);
  }

  void resize() {
    const CellKey cell = draw_resizable(faults_);
    std::optional<std::uint32_t> size;
    if (!faults_.one_in(5)) size = static_cast<std::uint32_t>(1 + faults_.below(6));
    world_->note("resize " + to_string(cell) + " to " +
                 (size ? std::to_string(*size) : "the configured size"));
    daemon_->send_client(ClientResize{cell, size});
  }

  void change_quota() {
    const CellKey cell = draw_cell(faults_);
    const QuotaOverride quota = draw_quota_override(faults_);
    world_->note("change the quota of " + to_string(cell));
    daemon_->send_client(ClientChangeQuota{cell, quota});
  }

  void change_state(const CellKey& cell, CellState state) {
    world_->note("make " + to_string(cell) + " " + std::string(to_string(state)));
    daemon_->send_client(ClientChangeState{cell, state});
  }

  // --- Restarts --------------------------------------------------------------------------------

  /// Now and then the configuration file has changed in the meantime.
  void restart() {
    world_->is_shut_down() ? stops_ += 1 : crashes_ += 1;
    notice_reload();
    daemon_.reset();
    world_->daemon_crashed();
    world_->commit_fails = world_->operation_fails = false;
    if (world_->may(Fault::reload) && faults_.one_in(3)) {
      configuration_ = draw_configuration(plan_, faults_);
    }
    start_daemon();
  }

  bool is_ending() const { return world_->is_dying() || !daemon_->dispatcher_alive(); }

  /// A daemon whose store has failed, or that has lost an actor that it cannot replace, refuses
  /// requests for a while and ends. It is then started again.
  void restart_if_over() {
    if (!is_ending()) return;
    if (!world_->is_dying())
      world_->violated(Check::daemon_ends, "the daemon ends without a reason");
    if (!over_in_) over_in_ = faults_.below(200);
    if (--*over_in_ <= 0) restart();
  }

  /// SIGTERM: the daemon shuts down, and nothing may be left running. Clients and faults continue
  /// in the meantime; a power cut ends the shutdown at once. Half of the shutdowns lose a
  /// dispatcher while it hands back what still runs after the grace period.
  void shut_down_and_restart() {
    if (is_ending()) return;
    const milliseconds grace{faults_.below(3000)};
    world_->note("shut down for " + std::to_string(grace.count()) + " ms");
    const SteadyTime latest = clockwork_.steady() + grace + shutdown_allowance;
    daemon_->prepare_shutdown();
    daemon_->send_client(ClientShutDown{grace});
    stopping_ = true;
    const auto incarnation = incarnation_;
    const SteadyTime grace_over = clockwork_.steady() + grace;
    bool spares_hand_back = faults_.one_in(2);
    for (int i = 0; !daemon_->client_state().has_shut_down && sound() && !world_->is_dying(); ++i) {
      if (i == shutdown_steps_max || clockwork_.steady() > latest) {
        world_->violated(Check::shutdown_time, "the daemon does not shut down in time");
        break;
      }
      interfere();
      if (incarnation_ != incarnation) return;
      if (!spares_hand_back && clockwork_.steady() >= grace_over && faults_.one_in(4)) {
        inject(Fault::kill_dispatcher);
        spares_hand_back = true;
      }
      step(milliseconds{10});
    }
    restart();
  }

  // --- Reloads ---------------------------------------------------------------------------------

  /// One reload at a time, as in the real daemon.
  void reload(const Configuration& next) {
    notice_reload();
    if (daemon_->client_state().reloading) return;
    if (is_ending()) return;  // The last reload may have failed and be in force nevertheless.
    Reconfigure order;
    order.routing = std::make_shared<const Routing>(next.rules);
    order.running_max = next.running_max;
    for (const auto& name : next.services) {
      if (!configuration_.services.contains(name) || differs(name, next) || faults_.one_in(4)) {
        order.services[name] = service_entry(world_, plan_, name, next);
      }
    }
    for (const auto& name : configuration_.services) {
      if (!next.services.contains(name)) order.services_removed.insert(name);
    }
    reloading_ = next;
    daemon_->reload(std::move(order), next.keep);
  }

  /// Whether the service differs from the one in force.
  bool differs(const std::string& name, const Configuration& next) const {
    return configuration_.pulled.contains(name) != next.pulled.contains(name) ||
           configuration_.without_undo.contains(name) != next.without_undo.contains(name) ||
           configuration_.protection.contains(name) != next.protection.contains(name);
  }

  void await_reload() {
    for (int i = 0; sound() && daemon_->client_state().reloading; ++i) {
      if (i == quiet_steps_max) {
        world_->violated(Check::reload_ends, "a reload does not finish");
        break;
      }
      step(milliseconds{100});
    }
  }

  /// The next start uses the configuration of the last answered reload.
  void notice_reload() {
    if (daemon_->take_reloaded()) configuration_ = reloading_;
  }

  std::shared_ptr<World> world_;
  Dice workload_;
  Dice faults_;
  Dice pace_;
  Clockwork clockwork_;
  Plan plan_;
  Configuration configuration_;
  Configuration reloading_;
  std::shared_ptr<Workers> workers_;      ///< Null: there are none.
  std::shared_ptr<Producers> producers_;  ///< The same.
  std::optional<Daemon> daemon_;
  bool stopping_ = false;
  std::optional<SteadyTime> rest_until_;  ///< During a lull.
  std::optional<std::int64_t> over_in_;   ///< Steps until a failing daemon ends.
  std::uint64_t incarnation_ = 0;
  std::uint64_t crashes_ = 0;
  std::uint64_t stops_ = 0;
  std::uint64_t submitted_ = 0;
};

}  // namespace

std::string RunResult::broken_promise() const {
  return violations.empty() ? "" : violations.front().substr(0, violations.front().find(':'));
}

RunResult run_seed(std::uint64_t seed, const Caps& caps, bool keep_trace) {
  Driver driver{seed, caps, keep_trace};
  return driver.run();
}

}  // namespace simulation
