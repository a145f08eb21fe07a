#include "tests/simulation/run.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <caf/scheduler/test_coordinator.hpp>

#include "cells/actors/cell_dispatcher.hpp"
#include "cells/actors/retention.hpp"
#include "src/store/memory_store.hpp"
#include "tests/simulation/actors.hpp"
#include "tests/simulation/world.hpp"

namespace simulation {
namespace {

constexpr int quiet_steps_max = 400'000;  ///< After the faults: enough to end all jobs.

constexpr int kill_rounds_max = 20;
constexpr std::size_t kill_events_max = 100'000;

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::abort();
}

/// What one run has to work on, drawn from its seed.
struct Plan {
  std::uint32_t jobs = 0;
  std::uint64_t fault_events = 0;  ///< How many events see faults.
  std::uint64_t fault_rarity = 0;
  std::uint64_t commit_delay_us = 0;
  std::vector<CellRule> rules;
  DispatchQueue::Limits window;
  milliseconds settle{0};
  milliseconds keep{};  ///< How long ended jobs are kept.
};

const std::vector<std::string> customers = {"acme", "bolt", "corp", "dyne", "east"};
const std::vector<std::string> products = {"dns", "mail"};
const std::vector<std::string> services = {"alpha", "beta", "gamma"};

/// Cells that administrators resize, pause and drain; they come and go with reloads.
const std::vector<CellKey> overridable = {{"acme", "dns"}, {"*", "*"}, {"acme", "*"}};

CellQuota draw_quota(Dice& dice) {
  CellQuota quota;
  quota.pool_size = static_cast<std::uint32_t>(1 + dice.below(4));
  quota.timeout = milliseconds{200 + dice.below(2000)};
  quota.jobs_max = dice.one_in(3) ? 10 : 1000;
  quota.retry = {static_cast<std::uint32_t>(1 + dice.below(4)), milliseconds{100},
                 milliseconds{2000}};
  return quota;
}

Plan draw_plan(Dice& dice) {
  Plan plan;
  plan.jobs = static_cast<std::uint32_t>(10 + dice.below(50));
  plan.fault_events = 1000 + dice.below(4000);
  plan.fault_rarity = 20 + dice.below(200);
  plan.commit_delay_us = dice.one_in(4) ? 0 : 1 + dice.below(30'000);
  plan.rules = {{"acme", "dns", false, false, draw_quota(dice)},
                {"*", "mail", true, false, draw_quota(dice)},
                {"*", "*", false, false, draw_quota(dice)}};
  plan.window = {1 + dice.below(4), 1 + dice.below(8), dice.one_in(2) ? 4U << 20 : 2000U};
  plan.settle = milliseconds{dice.one_in(2) ? 0 : dice.below(1500)};
  plan.keep = milliseconds{dice.one_in(3) ? 3'600'000 : 500 + dice.below(5000)};
  return plan;
}

/// What a start or a reload says.
struct Configuration {
  std::vector<CellRule> rules;
  std::set<std::string> services;
};

ServiceEntry service_entry(const std::shared_ptr<World>& world, const bool* gentle,
                           milliseconds settle) {
  return {
      [world, gentle](caf::actor_system& system) { return spawn_provider(system, world, gentle); },
      settle};
}

/// The actor system of one incarnation of the daemon, under CAF's test coordinator.
class Daemon {
 public:
  Daemon(const std::shared_ptr<World>& world, const Plan& plan, const Configuration& configuration,
         const bool* gentle, std::uint64_t incarnation, SteadyTime start)
      : world_(world), system_(configure(config_)) {
    clock().current_time = caf::actor_clock::time_point{start.time_since_epoch()};
    const auto routing = std::make_shared<const Routing>(configuration.rules);
    world->daemon_started(*routing);
    celld::store::MemoryStoreOptions store_options;
    store_options.commit_delay = [world, most = plan.commit_delay_us] {
      return microseconds{most == 0 ? 0 : world->dice.below(most)};
    };
    EngineOptions options;
    options.store = celld::store::spawn_memory_store(system_, world->disk, store_options);
    store_ = options.store.address();
    options.wall_clock = [world] { return world->now_wall; };
    options.routing = routing;
    for (const auto& name : configuration.services) {
      options.services[name] = service_entry(world, gentle, plan.settle);
    }
    options.seed = incarnation;
    options.window = plan.window;
    options.idle_close = milliseconds{2000};
    options.probe = world;
    const auto retention = spawn_retention(system_, {options.store, options.wall_clock, plan.keep});
    retention_ = retention.address();
    const auto dispatcher = spawn_cell_dispatcher(system_, std::move(options));
    dispatcher_ = dispatcher.address();
    client_ = spawn_client(system_, world, dispatcher, client_state_);
  }

  /// As a power cut: nothing more happens, and what was not committed is lost.
  ~Daemon() {
    clock().cancel_all();
    kill_first(store_);
    for (int round = 0; system_.registry().running() > 0; ++round) {
      if (round == kill_rounds_max) give_up("an actor waits for ever, and survives its own exit");
      kill_first(retention_);
      kill_first(dispatcher_);
      kill_first(client_.address());
      for (const auto& [role, actors] : world_->actors) {
        for (const auto& actor : actors) kill_first(actor);
      }
      if (scheduler().run(kill_events_max) == kill_events_max) {
        give_up("actors that were killed go on for ever");
      }
      clock().cancel_all();
    }
  }

  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  }
  caf::detail::test_actor_clock& clock() { return scheduler().clock(); }
  SteadyTime now() {
    return SteadyTime{
        std::chrono::duration_cast<microseconds>(clock().current_time.time_since_epoch())};
  }
  const caf::actor& client() const { return client_; }
  const ClientState& client_state() const { return *client_state_; }
  void reload(Reconfigure order) {
    client_state_->reloading = true;
    caf::anon_send(client_, ClientReload{std::move(order)});
  }
  /// Whether a reload has come into force since the last call.
  bool take_reloaded() { return std::exchange(client_state_->reloaded, false); }
  bool dispatcher_alive() const {
    return caf::actor_cast<caf::strong_actor_ptr>(dispatcher_) != nullptr;
  }

  /// Whether anything can still happen, now or later.
  bool alive() { return !scheduler().jobs.empty() || scheduler().has_pending_timeout(); }

 private:
  static caf::actor_system_config& configure(caf::actor_system_config& config) {
    config.set("scheduler.policy", caf::atom("testing"));
    config.set("logger.file-verbosity", caf::atom("quiet"));
    config.set("logger.console-verbosity", caf::atom("quiet"));
    return config;
  }

  /// An exit that overtakes everything else in the mailbox.
  static void kill_first(const caf::actor_addr& address) {
    const auto target = caf::actor_cast<caf::strong_actor_ptr>(address);
    if (!target) return;
    target->enqueue(nullptr, caf::make_message_id(caf::message_priority::high),
                    caf::make_message(caf::exit_msg{address, caf::exit_reason::kill}), nullptr);
  }

  std::shared_ptr<World> world_;
  caf::actor_system_config config_;
  caf::actor_system system_;
  caf::actor_addr store_;
  caf::actor_addr retention_;
  caf::actor_addr dispatcher_;
  caf::actor client_;
  std::shared_ptr<ClientState> client_state_ = std::make_shared<ClientState>();
};

/// Drives one run.
class Driver {
 public:
  Driver(std::uint64_t seed, bool keep_trace)
      : world_(std::make_shared<World>(seed)), plan_(draw_plan(world_->dice)) {
    world_->keep_trace = keep_trace;
    configuration_ = full();
    world_->keep = plan_.keep;
  }

  RunResult run(std::uint64_t seed) {
    start_daemon();
    while (events_ < plan_.fault_events && sound()) {
      if (jobs_left() && dice().one_in(8)) submit();
      if (dice().one_in(plan_.fault_rarity)) fault();
      if (dice().one_in(100)) change_mind();
      if (!event()) advance(milliseconds{1 + dice().below(500)});
    }
    while (jobs_left() && sound()) {
      submit();
      if (!event()) advance(milliseconds{1});
    }
    gentle_ = true;
    await_reload();
    reload(full());
    await_reload();
    for (const auto& cell : overridable) change_state(cell, CellState::active);
    for (int i = 0; i < quiet_steps_max && sound() && !at_rest(); ++i) {
      if (!event()) advance(milliseconds{100});
    }
    world_->check_all_ended();
    RunResult result{
        seed,     world_->trace_hash, events_,      world_->calls, world_->accepted_jobs.size(),
        crashes_, world_->violations, world_->trace};
    daemon_.reset();
    return result;
  }

 private:
  Dice& dice() { return world_->dice; }
  bool sound() const { return world_->violations.empty(); }
  bool jobs_left() const { return submitted_ < plan_.jobs; }

  /// Every job has ended, as far as the disk knows.
  bool at_rest() const {
    const auto& jobs = world_->disk->jobs();
    return std::all_of(jobs.begin(), jobs.end(),
                       [](const auto& item) { return is_ended(item.second.job->state); });
  }

  Configuration full() const { return {plan_.rules, {services.begin(), services.end()}}; }

  void start_daemon() {
    daemon_.emplace(world_, plan_, configuration_, &gentle_, ++incarnation_, steady_);
    tell_time();
  }

  void tell_time() {
    const SteadyTime before = steady_;
    steady_ = daemon_->now();
    wall_ += std::chrono::duration_cast<microseconds>(steady_ - before);
    world_->now_steady = steady_;
    world_->now_wall = WallTime{std::chrono::duration_cast<milliseconds>(wall_)};
    world_->latest_wall = std::max(world_->latest_wall, world_->now_wall);
  }

  /// One message of one actor, chosen by the seed; or, when nobody has one, the next timer.
  bool event() {
    auto& scheduler = daemon_->scheduler();
    if (scheduler.jobs.empty()) {
      if (!scheduler.has_pending_timeout()) return false;
      scheduler.trigger_timeout();
      tell_time();
      world_->check_deadlines();
      return true;
    }
    if (dice().one_in(50)) advance(microseconds{dice().below(2000)});
    if (scheduler.jobs.empty()) return true;
    const std::size_t chosen = dice().below(scheduler.jobs.size());
    const auto first = scheduler.jobs.begin();
    std::rotate(first, first + static_cast<std::ptrdiff_t>(chosen),
                first + static_cast<std::ptrdiff_t>(chosen) + 1);
    scheduler.run_once();
    ++events_;
    world_->check_deadlines();
    return true;
  }

  void advance(microseconds by) {
    daemon_->clock().advance_time(by);
    tell_time();
  }

  // --- Workload --------------------------------------------------------------------------------

  void submit() {
    submitted_ += 1;
    JobRequest request;
    JobSpec& spec = request.spec;
    spec.customer = customers[dice().below(customers.size())];
    spec.product = products[dice().below(products.size())];
    spec.action = "create";
    spec.entity = {"zone", "", std::string(1, static_cast<char>('a' + dice().below(4)))};
    const std::size_t first = dice().below(services.size());
    for (std::size_t i = 0; i <= dice().below(3); ++i) {
      spec.services.push_back(services[(first + i) % services.size()]);
    }
    spec.priority = static_cast<int>(1 + dice().below(9));
    if (dice().one_in(4)) request.delay = milliseconds{dice().below(5000)};
    if (dice().one_in(6)) request.expires_at = world_->now_wall + milliseconds{dice().below(8000)};
    if (dice().one_in(4)) {
      const bool changed = dice().one_in(4);
      request.idempotency = Idempotency{"key " + std::to_string(dice().below(20)),
                                        spec.product + (changed ? " changed" : "")};
    }
    caf::anon_send(daemon_->client(), ClientSubmit{std::move(request)});
  }

  /// Some client cancels some job, or wants it tried again.
  void change_mind() {
    const auto& jobs = world_->disk->jobs();
    if (jobs.empty()) return;
    const auto chosen =
        std::next(jobs.begin(), static_cast<std::ptrdiff_t>(dice().below(jobs.size())));
    const JobPtr job = chosen->second.job;
    if (is_ended(job->state) ? dice().one_in(10) : !dice().one_in(10)) {
      caf::anon_send(daemon_->client(), ClientCancel{job});
    } else {
      caf::anon_send(daemon_->client(), ClientRetry{job});
    }
  }

  // --- Faults ----------------------------------------------------------------------------------

  void fault() {
    switch (dice().below(20)) {
      case 0:
        crash();
        break;
      case 1:
        kill_one("dispatcher");
        break;
      case 2:
        kill_one("pool");
        break;
      case 3:
        kill_one("provider");
        break;
      case 4:
      case 5:
      case 6:
        kill_one("worker");
        break;
      case 7:
        jump_clock();
        break;
      case 8:
        drain_and_restart();
        break;
      case 9:
      case 10:
        change_state(some_cell(), static_cast<CellState>(dice().below(3)));
        break;
      case 11:
      case 12:
      case 13:
        reload(other_configuration());
        break;
      default:
        resize();
        break;
    }
  }

  void crash() {
    world_->note("power cut");
    crashes_ += 1;
    restart();
  }

  /// Now and then somebody has changed the file meanwhile.
  void restart() {
    notice_reload();
    daemon_.reset();
    world_->daemon_crashed();
    if (dice().one_in(3)) configuration_ = other_configuration();
    start_daemon();
  }

  void kill_one(const std::string& role) {
    auto& actors = world_->actors[role];
    std::erase_if(actors, [](const caf::actor_addr& actor) {
      return caf::actor_cast<caf::strong_actor_ptr>(actor) == nullptr;
    });
    if (actors.empty()) return;
    world_->note("kill " + role);
    caf::anon_send_exit(actors[dice().below(actors.size())], caf::exit_reason::unhandled_exception);
  }

  void jump_clock() {
    world_->note("clock jump");
    world_->clock_jumped = true;
    const auto by = std::chrono::seconds{dice().below(60)};
    wall_ += dice().one_in(2) ? by : -by;
    tell_time();
  }

  void resize() {
    const CellKey cell = some_cell();
    std::optional<std::uint32_t> size;
    if (!dice().one_in(5)) size = static_cast<std::uint32_t>(1 + dice().below(6));
    caf::anon_send(daemon_->client(), ClientResize{cell, size});
  }

  const CellKey& some_cell() { return overridable[dice().below(overridable.size())]; }

  /// Cells that go and come, templates among them, and now and then a service.
  Configuration other_configuration() {
    Configuration other;
    for (const auto& rule : plan_.rules) {
      if (!dice().one_in(3)) other.rules.push_back(rule);
    }
    if (dice().one_in(2)) other.rules.push_back({"acme", "*", false, false, draw_quota(dice())});
    if (dice().one_in(3)) other.rules.push_back({"bolt", "dns", false, false, draw_quota(dice())});
    if (dice().one_in(3)) other.rules.push_back({"*", "dns", true, false, draw_quota(dice())});
    for (const auto& name : services) {
      if (!dice().one_in(6)) other.services.insert(name);
    }
    return other;
  }

  /// One at a time, as the daemon does it.
  void reload(const Configuration& next) {
    notice_reload();
    if (daemon_->client_state().reloading) return;
    Reconfigure order;
    order.routing = std::make_shared<const Routing>(next.rules);
    for (const auto& name : next.services) {
      if (!configuration_.services.contains(name) || dice().one_in(4)) {
        order.services[name] = service_entry(world_, &gentle_, plan_.settle);
      }
    }
    for (const auto& name : configuration_.services) {
      if (!next.services.contains(name)) order.services_gone.insert(name);
    }
    reloading_ = next;
    daemon_->reload(std::move(order));
  }

  void await_reload() {
    for (int i = 0; sound() && daemon_->client_state().reloading; ++i) {
      if (i == quiet_steps_max) world_->violated("P12", "a reload does not come to its end");
      if (!event()) advance(milliseconds{100});
    }
  }

  /// What was answered is what the next start finds in the file.
  void notice_reload() {
    if (daemon_->take_reloaded()) configuration_ = reloading_;
  }

  void change_state(const CellKey& cell, CellState state) {
    caf::anon_send(daemon_->client(), ClientChangeState{cell, state});
  }

  /// SIGTERM: the daemon stops by itself, and nothing may be left running.
  void drain_and_restart() {
    world_->note("drain");
    caf::anon_send(daemon_->client(), ClientDrain{milliseconds{dice().below(3000)}});
    for (std::uint64_t i = 0; i < 50'000 && !daemon_->client_state().drained && sound(); ++i) {
      if (!event()) advance(milliseconds{10});
    }
    if (sound() && !daemon_->client_state().drained) world_->violated("P11", "it never stopped");
    for (const auto& [id, stored] : world_->disk->jobs()) {
      if (stored.job->state == JobState::running && sound()) {
        world_->violated("P11", format_job_id(id) + " is still running after a stop");
      }
    }
    restart();
  }

  std::shared_ptr<World> world_;
  Plan plan_;
  Configuration configuration_;
  Configuration reloading_;
  bool gentle_ = false;
  std::optional<Daemon> daemon_;
  std::uint64_t incarnation_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t crashes_ = 0;
  std::uint32_t submitted_ = 0;
  SteadyTime steady_{std::chrono::hours{1}};
  microseconds wall_ = std::chrono::hours{24 * 20'000};
};

}  // namespace

RunResult run_seed(std::uint64_t seed, bool keep_trace) {
  Driver driver{seed, keep_trace};
  return driver.run(seed);
}

}  // namespace simulation
