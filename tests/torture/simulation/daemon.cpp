#include "tests/torture/simulation/daemon.hpp"

#include <cstdio>
#include <cstdlib>

#include "cells/actors/cell_dispatcher.hpp"
#include "cells/actors/retention.hpp"
#include "src/store/memory_store.hpp"

namespace simulation {
namespace {

constexpr int kill_rounds_max = 20;
constexpr std::size_t kill_events_max = 100'000;
constexpr milliseconds idle_close{2000};

[[noreturn]] void fail(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::abort();
}

celld::store::MemoryStoreOptions store_options(const std::shared_ptr<World>& world,
                                               const Plan& plan) {
  celld::store::MemoryStoreOptions options;
  options.commits = plan.sizes.commits;
  options.commits.commit_delay = [world, most = plan.commit_delay_us] {
    return microseconds{most == 0 ? 0 : world->dice.below(most)};
  };
  options.fail_commit = [world] { return std::exchange(world->commit_fails, false); };
  options.fail_operation = [world] { return std::exchange(world->operation_fails, false); };
  options.failed_commit_lands = [world] { return world->dice.one_in(2); };
  options.on_fatal = [world](const std::string&) {
    world->note("the store fails");
    world->dying();
  };
  return options;
}

/// Sends an exit message that overtakes everything else in the mailbox.
void kill_first(const caf::actor_addr& address) {
  const auto target = caf::actor_cast<caf::strong_actor_ptr>(address);
  if (!target) return;
  target->enqueue(nullptr, caf::make_message_id(caf::message_priority::high),
                  caf::make_message(caf::exit_msg{address, caf::exit_reason::kill}), nullptr);
}

}  // namespace

ServiceEntry service_entry(const std::shared_ptr<World>& world, const Plan& plan,
                           const std::string& name, const Configuration& configuration) {
  const auto found = configuration.protection.find(name);
  const Protection protection =
      found == configuration.protection.end() ? Protection{} : found->second;
  const auto undoes = ActionSet::all_if(!configuration.without_undo.contains(name));
  if (configuration.pulled.contains(name)) {
    return {nullptr, plan.settle, {protection.limits, std::nullopt}, undoes};
  }
  return {[world, name](caf::actor_system& system) { return spawn_provider(system, world, name); },
          plan.settle, protection, undoes};
}

Daemon::Daemon(const std::shared_ptr<World>& world, const Plan& plan,
               const Configuration& configuration, std::uint64_t incarnation, SteadyTime start,
               const std::shared_ptr<Workers>& workers, const std::shared_ptr<Producers>& producers)
    : world_(world),
      system_(configure(config_)),
      scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())) {
  clock().current_time = caf::actor_clock::time_point{start.time_since_epoch()};
  const auto routing = std::make_shared<const Routing>(configuration.rules);
  world->daemon_started(routing, configuration.services, configuration.without_undo,
                        configuration.pulled, configuration.protection, configuration.keep,
                        configuration.running_max);
  EngineOptions options;
  options.store =
      celld::store::spawn_memory_store(system_, world->disk, store_options(world, plan));
  const JobStore store = options.store;
  store_ = store.address();
  options.wall_clock = [world] { return world->now_wall; };
  options.routing = routing;
  for (const auto& name : configuration.services) {
    options.services[name] = service_entry(world, plan, name, configuration);
  }
  options.seed = incarnation;
  options.window = plan.window;
  options.window_bytes_max = plan.window_bytes_max;
  options.store_sizes = plan.sizes.store;
  options.desks = plan.sizes.desks;
  options.instances_max = plan.instances_max;
  options.running_max = configuration.running_max;
  options.go_ahead = plan.go_ahead;
  options.idle_close = idle_close;
  options.probe = world;
  const auto watcher = spawn_watcher(system_, world);
  watcher_ = watcher.address();
  options.observer = watcher;
  const auto retention = spawn_retention(
      system_, {options.store, options.wall_clock, configuration.keep, plan.sizes.pruned_jobs_max});
  retention_ = retention.address();
  const auto dispatcher = spawn_cell_dispatcher(system_, std::move(options));
  dispatcher_ = dispatcher.address();
  dispatcher->attach_functor([alive = dispatcher_alive_] { *alive = false; });
  client_ = spawn_client(system_, world, dispatcher, retention, plan.sizes.listed_cells_max,
                         client_state_);
  if (workers) workers_ = spawn_workers(system_, world, dispatcher, workers, client_state_);
  if (!producers && plan.schedules.empty()) return;
  const auto reader = celld::store::spawn_memory_reader(system_, world->disk);
  reader_ = reader.address();
  const BatchEngine engine{dispatcher,
                           reader,
                           store,
                           plan.sizes.batches,
                           plan.sizes.firings_max,
                           plan.sizes.schedules_loaded_max};
  if (producers) producers_ = spawn_producers(system_, world, engine, producers, client_state_);
  if (!plan.schedules.empty()) {
    schedules_ = spawn_schedules(system_, world, engine, plan.schedules);
  }
}

Daemon::~Daemon() {
  world_->dying();
  clock().cancel_all();
  kill_first(store_);
  for (int round = 0; system_.registry().running() > 0; ++round) {
    if (round == kill_rounds_max) fail("an actor survives its own exit");
    kill_first(retention_);
    kill_first(watcher_);
    kill_first(dispatcher_);
    kill_first(client_.address());
    if (workers_) kill_first(workers_.address());
    if (producers_) kill_first(producers_.address());
    if (schedules_) kill_first(schedules_.address());
    kill_first(reader_);
    for (const auto& [role, actors] : world_->actors) {
      for (const auto& actor : actors) kill_first(actor.address);
    }
    if (scheduler_.run(kill_events_max) == kill_events_max) {
      fail("killed actors keep running");
    }
    clock().cancel_all();
  }
}

void Daemon::reload(Reconfigure order, milliseconds keep) {
  client_state_->reloading = true;
  send_client(ClientReload{std::move(order), keep});
}

void Daemon::audit() {
  client_state_->cells.reset();
  send_client(ClientAudit{});
}

void Daemon::stop_workers() {
  if (workers_) caf::anon_send(workers_, WorkersStop{});
}

void Daemon::stop_producers() {
  if (producers_) caf::anon_send(producers_, ProducersStop{});
}

void Daemon::stop_schedules() {
  if (schedules_) caf::anon_send(schedules_, SchedulesStop{});
}

void Daemon::prepare_shutdown() {
  if (producers_) caf::anon_send(producers_, EndBatches{});
  if (schedules_) caf::anon_send(schedules_, DaemonStops{});
}

caf::actor_system_config& Daemon::configure(caf::actor_system_config& config) {
  config.set("scheduler.policy", caf::atom("testing"));
  config.set("logger.file-verbosity", caf::atom("quiet"));
  config.set("logger.console-verbosity", caf::atom("quiet"));
  return config;
}

}  // namespace simulation
