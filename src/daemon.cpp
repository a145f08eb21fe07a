#include "src/daemon.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "cells/actors/cell_dispatcher.hpp"
#include "cells/actors/probe_list.hpp"
#include "cells/actors/retention.hpp"
#include "cells/actors/schedule_desk.hpp"
#include "src/allocator.hpp"
#include "src/audit_log.hpp"
#include "src/engine_log.hpp"
#include "src/few_wake_ups.hpp"
#include "src/http/api/endpoints.hpp"
#include "src/http/api/lease_gateway.hpp"
#include "src/http/api/problem.hpp"
#include "src/http/server.hpp"
#include "src/http/tls.hpp"
#include "src/metrics/metrics.hpp"
#include "src/metrics/scraper.hpp"
#include "src/providers/command/lock.hpp"
#include "src/providers/kinds.hpp"
#include "src/providers/transports.hpp"
#include "src/store/kept_jobs.hpp"
#include "src/store/mixed_store.hpp"
#include "src/store/store.hpp"
#include "src/time_zones.hpp"
#include "src/version.hpp"

namespace celld {
namespace {

/// Time for answers that are being written when celld shuts down.
constexpr std::chrono::milliseconds last_answers_grace{2000};

/// When celld leaves its listening socket to the next process, clients may use their open
/// connections for this much longer. A client that pauses for less between two requests misses no
/// answer.
constexpr std::chrono::milliseconds hand_over_grace{1000};

/// How long celld may take to write jobs in memory to a file. The rate is a third of what a slow
/// machine reaches.
constexpr std::chrono::milliseconds keeping_jobs_longest{10'000};
constexpr std::uint64_t bytes_kept_per_ms = 50'000;

/// How long to wait for commands that an earlier celld left. They are being killed; only a process
/// stuck in the kernel takes this long.
constexpr std::chrono::milliseconds old_commands_patience{30'000};

/// A reload that takes longer looks this often whether celld is asked to stop.
constexpr std::chrono::milliseconds stop_noticed_after{50};

cells::WallTime wall_now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return cells::WallTime{std::chrono::duration_cast<cells::milliseconds>(since_epoch)};
}

caf::actor_system_config& quiet(caf::actor_system_config& config) {
  config.set("logger.file-verbosity", caf::atom("quiet"));
  config.set("logger.console-verbosity", caf::atom("quiet"));
  config.load<caf::scheduler::coordinator<FewWakeUps>>();
  // After this many messages, a busy actor yields to the others.
  config.set("scheduler.max-throughput", std::size_t{64});
  const std::size_t threads = std::max(2U, std::thread::hardware_concurrency());
  config.set("scheduler.max-threads", threads);
  return config;
}

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

http::Limits limits_of(const config::Limits& configured) {
  http::Limits limits;
  limits.head_bytes_max = configured.head_bytes_max;
  limits.headers_max = configured.headers_max;
  limits.uri_bytes_max = configured.uri_bytes_max;
  limits.body_bytes_max = configured.body_bytes_max;
  limits.stream_backlog_bytes_max = configured.stream_backlog_bytes_max;
  limits.unsent_bytes_max = configured.unsent_bytes_max;
  limits.head_timeout = configured.head_timeout;
  limits.body_timeout = configured.body_timeout;
  limits.idle_timeout = configured.idle_timeout;
  limits.write_timeout = configured.write_timeout;
  limits.connections_max = configured.connections_max;
  return limits;
}

/// Leaves `certificates` null without TLS. Returns what is wrong with the files, if anything.
std::optional<json::Fault> load_certificates(const config::Config& config,
                                             std::shared_ptr<http::TlsContext>& certificates) {
  const auto& tls = config.listen.tls;
  if (!tls) return std::nullopt;
  auto loaded = http::TlsContext::load({tls->certificate_path, tls->key_path, tls->client_ca_path});
  if (auto* fault = std::get_if<std::string>(&loaded)) {
    return json::Fault{"/listen/tls", std::move(*fault)};
  }
  certificates = std::get<std::shared_ptr<http::TlsContext>>(std::move(loaded));
  return std::nullopt;
}

std::vector<std::string> names_of(const std::vector<config::Service>& services) {
  std::vector<std::string> names;
  names.reserve(services.size());
  for (const auto& service : services) names.push_back(service.name);
  return names;
}

/// Adds a fault for each cell that cannot keep its jobs as the configuration says. `jobs` counts,
/// by cell, the unfinished jobs that are kept otherwise.
void add_durability_faults(const std::vector<cells::CellRule>& rules,
                           const std::map<cells::CellKey, std::uint64_t>& jobs,
                           std::vector<json::Fault>& faults) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto found = jobs.find({rules[i].customer, rules[i].product});
    if (found == jobs.end()) continue;
    const bool in_memory = rules[i].settings.durability == cells::Durability::memory;
    faults.push_back(
        {json::pointer_to(json::pointer_to("/cells", i), "durability"),
         "cannot be \"" + std::string(to_string(rules[i].settings.durability)) +
             "\": " + std::to_string(found->second) +
             (found->second == 1 ? " unfinished job is kept " : " unfinished jobs are kept ") +
             (in_memory ? "on disk" : "in memory")});
  }
}

class RunningDaemon final : public Daemon {
 public:
  RunningDaemon(const config::Config& config, Events& events, logs::Log& log)
      : config_(config),
        events_(events),
        log_(log),
        memory_(std::make_shared<store::SharedMemory>(config.capacity.memory_bytes_max)),
        system_(quiet(system_config_)) {}

  ~RunningDaemon() override {
    server_.stop(std::chrono::milliseconds{0});
    end_scraper();
    for (const auto& actor : {batch_desk_, backup_sender_, retention_, schedules_, lease_gateway_,
                              dispatcher_, gateway_, reader_, store_}) {
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    }
  }

  /// Returns why it failed, if it did. Binds the port before it opens the store: early clients wait
  /// in the kernel's queue.
  std::optional<StartFailure> start(const std::string& data_directory,
                                    std::optional<int> listening_socket) {
    std::shared_ptr<http::TlsContext> certificates;
    if (auto fault = load_certificates(config_, certificates)) {
      return StartFailure{2, std::move(fault->detail)};
    }
    use_certificates(config_, std::move(certificates));
    hands_over_ = listening_socket.has_value();
    const auto [port, bind_error] = hands_over_
                                        ? server_.adopt(*listening_socket)
                                        : server_.bind(config_.listen.host, config_.listen.port);
    if (!bind_error.empty()) return StartFailure{1, bind_error};
    url_ = config_.listen.tls ? "https://" : "http://";
    url_ += bracketed(config_.listen.host) + ":" + std::to_string(port);

    store::StoreEvents store_events;
    store_events.on_fatal = [this](std::string text) {
      readiness_->state = api::ReadyState::store_failed;
      events_.fail(Events::Kind::store_failed, std::move(text));
    };
    store_events.on_commit = [metrics = metrics_](const auto& report) {
      metrics->committed(report);
    };
    store_events.help_actors = help_actors_;
    auto opened =
        store::open_store(config_.store, data_directory, std::move(store_events), memory_);
    if (auto* error = std::get_if<std::string>(&opened)) return StartFailure{3, *error};
    auto& store = *std::get<std::unique_ptr<store::Store>>(opened);
    if (auto failure = start_transports(store.lock_path(".supervisor.lock"))) return failure;
    kept_jobs_path_ = store.lock_path(".kept");
    return serve(store);
  }

  std::string url() const override { return url_; }

  api::ReloadOutcome reload(const config::Config& next) override {
    auto faults = config::reload_faults(config_, next);
    const auto effective = config::reloaded(config_, next);
    std::shared_ptr<http::TlsContext> certificates;
    auto fault = load_certificates(effective, certificates);
    // If TLS comes or goes, that waits for a restart. The files in use may have gone before it.
    const bool tls_stays = config_.listen.tls.has_value() == next.listen.tls.has_value();
    if (fault && tls_stays) faults.push_back(std::move(*fault));
    if (!faults.empty()) return faults;
    api::ReloadReport report{config::compare(config_, next), {}};
    const auto routing = std::make_shared<const cells::Routing>(effective.cells);
    announce_reload(true);
    auto prevented = reconfigure(effective, routing, report);
    announce_reload(false);
    if (!prevented) return api::ReloadRefused{};
    if (!prevented->empty()) return std::move(*prevented);
    if (auto error = configure_schedules(effective)) {
      return std::vector<json::Fault>{{"/schedules", std::move(*error)}};
    }
    use_certificates(effective, std::move(certificates));
    settings_->set(api::make_settings(effective, routing));
    caf::anon_send(caf::actor_cast<cells::Retention>(retention_),
                   cells::KeepEnded{effective.retention});
    if (effective.tokens != config_.tokens) {
      caf::anon_send(caf::actor_cast<api::Gateway>(gateway_), api::EndStreams{});
      caf::anon_send(caf::actor_cast<api::LeaseGateway>(lease_gateway_), api::EndWaits{});
      caf::anon_send(caf::actor_cast<api::BatchDesk>(batch_desk_), api::CheckRefusals{});
    }
    if (effective.tokens.empty() && !config_.tokens.empty()) {
      log_.write({logs::Level::warning,
                  "`auth` was removed: every client that can connect may do everything"});
    }
    memory_->budget.limit(effective.capacity.memory_bytes_max);
    config_ = effective;
    return report;
  }

  bool answers(std::chrono::milliseconds within) override {
    bool answered = server_.responds(within);
    caf::scoped_actor self{system_};
    self->request(caf::actor_cast<cells::CellDispatcher>(dispatcher_), within,
                  cells::ListCells{std::nullopt, 1})
        .receive([](const cells::CellsListed&) {}, [&](const caf::error&) { answered = false; });
    return answered;
  }

  std::chrono::milliseconds shutdown_longest() const override {
    const std::chrono::milliseconds keeping_jobs{memory_->budget.bytes() / bytes_kept_per_ms};
    return hand_over_grace + config_.shutdown_grace + cells::hand_back_patience +
           last_answers_grace + std::max(keeping_jobs, keeping_jobs_longest);
  }

  std::string shut_down() override {
    readiness_->state = api::ReadyState::shutting_down;
    caf::anon_send(caf::actor_cast<api::BatchDesk>(batch_desk_), api::EndReading{});
    if (hands_over_) server_.hand_over(hand_over_grace);
    caf::anon_send_exit(retention_, caf::exit_reason::user_shutdown);
    caf::anon_send(caf::actor_cast<cells::ScheduleDesk>(schedules_), cells::StopFiring{});
    caf::anon_send(caf::actor_cast<api::LeaseGateway>(lease_gateway_), api::StopLeasing{});
    std::string failure;
    caf::scoped_actor self{system_};
    self->request(caf::actor_cast<cells::CellDispatcher>(dispatcher_), caf::infinite,
                  cells::ShutDown{config_.shutdown_grace})
        .receive([this](const cells::ShutdownCompleted& stopped) { warn_of_unconfirmed(stopped); },
                 [&](const caf::error& error) { failure = reason_of(error); });
    refuse_all();
    return failure.empty() ? keep_jobs() : failure;
  }

  void refuse_all() override {
    caf::anon_send(caf::actor_cast<api::Gateway>(gateway_), api::ReleaseWaiters{});
    caf::anon_send(caf::actor_cast<api::BatchDesk>(batch_desk_), api::ReleaseBatchWaiters{});
    caf::anon_send_exit(backup_sender_, caf::exit_reason::user_shutdown);
    server_.stop(last_answers_grace);
  }

 private:
  /// An expired certificate is no fault: celld does its work although clients refuse it.
  void use_certificates(const config::Config& config,
                        std::shared_ptr<http::TlsContext> certificates) {
    if (!certificates) return;
    if (const auto expired_at = certificates->expired_at()) {
      log_.write({logs::Level::warning, config.listen.tls->certificate_path +
                                            ": the certificate expired at " + *expired_at});
    }
    server_.use_tls(std::move(certificates));
  }

  /// Takes the second lock of the database, after the store's. While another process holds it,
  /// commands of the database's jobs may run, and no job may start.
  std::optional<StartFailure> start_transports(const std::string& lock_path) {
    std::string error;
    commands_lock_ = providers::lock_commands(
        lock_path, old_commands_patience,
        [&] {
          log_.write({logs::Level::info, "waiting for the commands of an earlier celld to end"});
        },
        error);
    if (!commands_lock_) return StartFailure{3, error};
    transports_.emplace(providers::kinds(),
                        providers::TransportContext{wall_now, commands_lock_.get(), help_actors_});
    return std::nullopt;
  }

  /// Takes up the jobs in memory that the last shutdown kept. Their file is removed later.
  std::optional<StartFailure> take_up_jobs(const cells::Routing& routing) {
    auto kept = store::read_kept_jobs(kept_jobs_path_);
    if (auto* error = std::get_if<std::string>(&kept)) return StartFailure{3, *error};
    auto& jobs = std::get<store::StoreContent>(kept);
    std::map<cells::CellKey, std::uint64_t> kept_otherwise;
    std::uint64_t without_cell = 0;
    std::string first_without;
    for (auto& [id, stored] : jobs.jobs) {
      const auto& spec = *stored.job->spec;
      const auto route = routing.find(spec.customer, spec.product);
      if (!route) {
        if (++without_cell == 1) first_without = spec.customer + "/" + spec.product;
      } else if (route->rule->settings.durability != cells::Durability::memory) {
        ++kept_otherwise[{route->rule->customer, route->rule->product}];
      } else {
        auto job = std::make_shared<cells::Job>(*stored.job);
        job->cell = route->cell;
        stored.job = std::move(job);
      }
    }
    std::vector<json::Fault> faults;
    add_durability_faults(config_.cells, kept_otherwise, faults);
    if (without_cell > 0) {
      faults.push_back({"/cells", "has no cell for " + std::to_string(without_cell) +
                                      (without_cell == 1 ? " unfinished job" : " unfinished jobs") +
                                      " that the last shutdown kept in " + kept_jobs_path_ +
                                      ": the first is of " + first_without});
    }
    memory_->fill(std::move(jobs));
    return failure_of(faults);
  }

  /// Jobs on disk cannot become jobs in memory.
  std::optional<StartFailure> check_durability(const cells::JobStore& store,
                                               const cells::Routing& routing) {
    if (!keeps_in_memory(routing)) return std::nullopt;
    constexpr std::size_t all = std::numeric_limits<std::uint32_t>::max();
    constexpr auto disk = cells::Durability::disk;
    std::map<cells::CellKey, std::uint64_t> kept_otherwise;
    std::optional<StartFailure> failure;
    caf::scoped_actor self{system_};
    self->request(store, caf::infinite, cells::ListBacklogs{std::nullopt, "", "", all, disk})
        .receive(
            [&](const cells::BacklogsListed& listed) {
              auto jobs = listed.jobs.begin();
              for (const auto& [cell, customer, product] : listed.backlogs) {
                const auto jobs_of_backlog = *jobs++;
                const auto* rule = conflicting_rule(routing, cell, customer, product, disk);
                if (rule) kept_otherwise[{rule->customer, rule->product}] += jobs_of_backlog;
              }
            },
            [&](const caf::error& error) {
              failure = StartFailure{3, "the store failed: " + reason_of(error)};
            });
    if (failure) return failure;
    std::vector<json::Fault> faults;
    add_durability_faults(config_.cells, kept_otherwise, faults);
    return failure_of(faults);
  }

  static std::optional<StartFailure> failure_of(const std::vector<json::Fault>& faults) {
    if (faults.empty()) return std::nullopt;
    std::string text;
    for (const auto& fault : faults) {
      text += (text.empty() ? "" : "; ") + fault.pointer + " " + fault.detail;
    }
    return StartFailure{2, std::move(text)};
  }

  /// Writes jobs in memory to a file for the next start, if their cells are configured so. Returns
  /// an error, or empty text.
  std::string keep_jobs() const {
    if (memory_->budget.bytes() == 0) return "";
    const cells::Routing routing{config_.cells};
    std::uint64_t without_cell = 0;
    auto failure = store::write_kept_jobs(
        kept_jobs_path_, memory_->content.snapshot(), [&](const cells::Job& job) {
          const auto route = routing.find(job.spec->customer, job.spec->product);
          if (!route) ++without_cell;
          return route && route->rule->settings.keep_on_stop;
        });
    if (without_cell > 0) {
      logs::Line line{logs::Level::warning, "jobs in memory are forgotten: no cell matches them"};
      log_.write(line.number("jobs", without_cell));
    }
    return failure;
  }

  /// A call that did not end may have a running command. Its supervisor keeps the next celld from
  /// starting until that command has ended.
  void warn_of_unconfirmed(const cells::ShutdownCompleted& stopped) {
    for (const auto& [cell, calls] : stopped.unconfirmed) {
      logs::Line line{logs::Level::warning,
                      "aborted calls have not ended; the next celld runs their jobs again, once "
                      "those calls are gone"};
      log_.write(line.text("cell", to_string(cell)).number("calls", calls));
    }
  }

  void announce_reload(bool is_under_way) {
    caf::anon_send(caf::actor_cast<api::Gateway>(gateway_), api::Reloading{is_under_way});
  }

  /// Applies cells and services. Returns what prevents it, if anything. Counting the jobs that need
  /// a service, or moving them, may take minutes: returns nothing if celld is asked to stop before.
  std::optional<std::vector<json::Fault>> reconfigure(const config::Config& next,
                                                      std::shared_ptr<const cells::Routing> routing,
                                                      api::ReloadReport& report) {
    cells::Reconfigure order;
    order.routing = std::move(routing);
    order.running_max = next.capacity.running_max;
    const auto& services = report.changes.services;
    order.services_removed.insert(services.removed.begin(), services.removed.end());
    std::set<std::string> coming{services.added.begin(), services.added.end()};
    coming.insert(services.changed.begin(), services.changed.end());
    for (const auto& service : next.services) {
      if (!coming.contains(service.name)) continue;
      metrics_->engine().add_service(service.name);
      order.services[service.name] = entry_of(service);
    }
    std::vector<json::Fault> faults;
    caf::scoped_actor self{system_};
    auto asked = self->request(caf::actor_cast<cells::CellDispatcher>(dispatcher_), caf::infinite,
                               std::move(order));
    while (!self->await_data(std::chrono::high_resolution_clock::now() + stop_noticed_after))
      if (events_.stop_is_waiting()) return std::nullopt;
    asked.receive(
        [&](const cells::Reconfigured& answer) {
          for (const auto& [name, jobs] : answer.needed) {
            faults.push_back(
                {json::pointer_to("/services", name),
                 "cannot be removed: " + std::to_string(jobs) +
                     (jobs == 1 ? " unfinished job needs it" : " unfinished jobs need it")});
          }
          for (const auto& [name, jobs] : answer.undos_needed) {
            faults.push_back(
                {json::pointer_to("/services", name),
                 "must keep its `undo`: " + std::to_string(jobs) +
                     (jobs == 1 ? " unfinished job may need it" : " unfinished jobs may need it")});
          }
          add_durability_faults(next.cells, answer.kept_otherwise, faults);
          report.masked = answer.masked;
        },
        [&](const caf::error& error) {
          faults.push_back({"", "celld accepts no new configuration: " + reason_of(error)});
        });
    return faults;
  }

  /// Answers once the schedules of the configuration are on disk. Returns an error, if any.
  std::optional<std::string> configure_schedules(const config::Config& next) {
    std::optional<std::string> failure;
    caf::scoped_actor self{system_};
    self->request(caf::actor_cast<cells::ScheduleDesk>(schedules_), caf::infinite,
                  cells::ConfigureSchedules{next.schedules})
        .receive([](const cells::SchedulesConfigured&) {},
                 [&](const caf::error& error) { failure = reason_of(error); });
    return failure;
  }

  /// celld must not continue without this actor.
  void fail_with(const caf::actor& actor, Events::Kind kind, const char* text) {
    actor->attach_functor([this, kind, text](const caf::error& reason) {
      if (reason != caf::exit_reason::user_shutdown) events_.fail(kind, text);
    });
  }

  std::optional<StartFailure> serve(store::Store& opened) {
    const auto routing = std::make_shared<const cells::Routing>(config_.cells);
    if (auto failure = take_up_jobs(*routing)) return failure;
    const auto store = opened.spawn_writer(system_);
    const auto reader = opened.spawn_reader(system_);
    const auto gateway = api::spawn_gateway(system_, wall_now);
    store_ = caf::actor_cast<caf::actor>(store);
    fail_with(store_, Events::Kind::store_failed, "the store ended");
    reader_ = caf::actor_cast<caf::actor>(reader);
    gateway_ = caf::actor_cast<caf::actor>(gateway);

    if (auto failure = check_durability(store, *routing)) return failure;
    if (auto error = store::remove_kept_jobs(kept_jobs_path_); !error.empty()) {
      return StartFailure{3, std::move(error)};
    }
    const auto dispatcher =
        cells::spawn_cell_dispatcher(system_, engine_options(store, gateway, routing));
    dispatcher_ = caf::actor_cast<caf::actor>(dispatcher);
    if (auto failure = await_dispatcher(dispatcher)) return failure;
    retention_ = caf::actor_cast<caf::actor>(
        cells::spawn_retention(system_, {store, wall_now, config_.retention}));
    fail_with(dispatcher_, Events::Kind::engine_failed, "the cell dispatcher ended");
    const auto schedules = cells::spawn_schedule_desk(
        system_,
        {store, reader, dispatcher, wall_now, std::make_shared<SystemTimeZones>(), probe_});
    schedules_ = caf::actor_cast<caf::actor>(schedules);
    fail_with(schedules_, Events::Kind::engine_failed, "the schedule desk ended");
    if (auto error = configure_schedules(config_)) {
      return StartFailure{3, "the store failed: " + *error};
    }

    caf::anon_send(gateway, api::ServeEngine{dispatcher, reader, schedules});
    const auto leases = api::spawn_lease_gateway(
        system_, {dispatcher, reader, api::LeaseNames{opened.secret()}, wall_now});
    lease_gateway_ = caf::actor_cast<caf::actor>(leases);
    settings_ = std::make_shared<api::LiveSettings>(api::make_settings(config_, routing));
    const auto desk = api::spawn_batch_desk(system_, wall_now, batch_figures_);
    caf::anon_send(desk, api::ServeBatches{dispatcher, reader, store});
    batch_desk_ = caf::actor_cast<caf::actor>(desk);
    const auto scraper = spawn_scraper(dispatcher, reader, opened);
    const auto backups = api::spawn_backup_sender(
        system_, opened.spawn_backup_maker(system_), [this](const std::string& why) {
          log_.write_limited({logs::Level::error, "a backup failed: " + why}, "backup");
        });
    backup_sender_ = caf::actor_cast<caf::actor>(backups);
    const auto scrape = [scraper](http::Responder responder) {
      caf::anon_send(scraper, metrics::Scrape{std::move(responder)});
    };
    const auto reload = [this](api::ReloadAnswer answer) { events_.ask_reload(std::move(answer)); };
    api::add_endpoints(server_, {gateway, leases, settings_, readiness_, scrape, reload, backups,
                                 audit_to(log_), desk, time_zone_fault, help_actors_});
    server_.observe({metrics_, &metrics_->http()});
    return_free_memory();  // Used to read and show the configuration.
    server_.start();
    readiness_->state = api::ReadyState::ready;
    return std::nullopt;
  }

  cells::EngineOptions engine_options(const cells::JobStore& store, const api::Gateway& gateway,
                                      std::shared_ptr<const cells::Routing> routing) {
    cells::EngineOptions options;
    options.store = store;
    options.observer = gateway;
    options.wall_clock = wall_now;
    options.routing = std::move(routing);
    options.running_max = config_.capacity.running_max;
    options.seed = std::random_device{}();
    options.id_offset = options.seed % (std::uint64_t{1} << 19);
    options.probe = probe_;
    for (const auto& service : config_.services) {
      options.services[service.name] = entry_of(service);
    }
    return options;
  }

  cells::ServiceEntry entry_of(const config::Service& service) {
    if (!service.settings->kind().makes_calls())
      return {nullptr, service.settle, service.protection, service.settings->undoes()};
    return {
        [this, service](caf::actor_system& system) { return transports_->spawn(system, service); },
        service.settle, service.protection, service.settings->undoes()};
  }

  /// Ends the scraper first, because it reads parts that are about to be destroyed.
  void end_scraper() {
    if (!scraper_) return;
    caf::anon_send_exit(scraper_, caf::exit_reason::user_shutdown);
    caf::scoped_actor self{system_};
    self->wait_for(scraper_);
  }

  metrics::Scraper spawn_scraper(const cells::CellDispatcher& dispatcher,
                                 const cells::JobReader& reader, const store::Store& opened) {
    auto scraper = metrics::spawn_scraper(
        system_, {metrics_, dispatcher, reader, wall_now,
                  [this, store_statistics = opened.statistics(),
                   connections_max = config_.limits.connections_max] {
                    const auto& batches = *batch_figures_;
                    return metrics::DaemonReading{readiness_->state == api::ReadyState::ready,
                                                  server_.connections(),
                                                  connections_max,
                                                  server_.streams(),
                                                  batches.reading,
                                                  {{"accepted", batches.accepted},
                                                   {"replayed", batches.replayed},
                                                   {"rejected", batches.rejected}},
                                                  store_statistics()};
                  }});
    scraper_ = caf::actor_cast<caf::actor>(scraper);
    return scraper;
  }

  /// An actor that answers with an error has usually ended because the store failed. If so, returns
  /// why the store failed.
  std::string reason_of(const caf::error& error) const {
    return events_.failure().value_or(system_.render(error));
  }

  /// The dispatcher answers once it has resumed the jobs of the store.
  std::optional<StartFailure> await_dispatcher(const cells::CellDispatcher& dispatcher) {
    std::optional<StartFailure> failure;
    caf::scoped_actor self{system_};
    self->request(dispatcher, caf::infinite, cells::ListCells{std::nullopt, 1})
        .receive([](const cells::CellsListed&) {},
                 [&](const caf::error& error) {
                   failure = StartFailure{3, "the store failed: " + reason_of(error)};
                 });
    return failure;
  }

  config::Config config_;  ///< In force; used by the main thread only.
  Events& events_;
  logs::Log& log_;
  std::shared_ptr<store::SharedMemory> memory_;  ///< The jobs in memory.
  std::string kept_jobs_path_;
  bool hands_over_ = false;  // Whether the listening socket was inherited.
  std::string url_;
  std::shared_ptr<api::Readiness> readiness_ = std::make_shared<api::Readiness>();
  std::shared_ptr<metrics::Metrics> metrics_ =
      std::make_shared<metrics::Metrics>(names_of(config_.services), version);
  std::shared_ptr<api::LiveSettings> settings_;
  std::shared_ptr<api::BatchFigures> batch_figures_ = std::make_shared<api::BatchFigures>();
  std::shared_ptr<cells::EngineProbe> probe_ =
      std::make_shared<cells::ProbeList>(std::vector<std::shared_ptr<cells::EngineProbe>>{
          {metrics_, &metrics_->engine()}, std::make_shared<EngineLog>(log_)});
  caf::actor_system_config system_config_;
  caf::actor_system system_;
  const HelpActors help_actors_ = [this](const std::function<void()>& send) {
    help_actors(system_, send);
  };
  // Destroyed bottom-up: first the server and the transports, whose callbacks hold actors, then the
  // actor system, which waits for its actors to end.
  caf::actor store_;
  caf::actor reader_;
  caf::actor gateway_;
  caf::actor lease_gateway_;
  caf::actor dispatcher_;
  caf::actor scraper_;
  caf::actor retention_;
  caf::actor schedules_;
  caf::actor backup_sender_;
  caf::actor batch_desk_;
  providers::Descriptor commands_lock_;
  std::optional<providers::Transports> transports_;
  http::Server server_{limits_of(config_.limits), api::refuse};
};

}  // namespace

std::vector<json::Fault> check_certificates(const config::Config& config) {
  std::shared_ptr<http::TlsContext> unused;
  if (auto fault = load_certificates(config, unused)) return {std::move(*fault)};
  return {};
}

std::variant<std::unique_ptr<Daemon>, StartFailure> Daemon::start(const config::Config& config,
                                                                  const std::string& data_directory,
                                                                  Events& events, logs::Log& log,
                                                                  std::optional<int> socket) {
  auto daemon = std::make_unique<RunningDaemon>(config, events, log);
  if (auto failure = daemon->start(data_directory, socket)) return std::move(*failure);
  return daemon;
}

}  // namespace celld
