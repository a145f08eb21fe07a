#include "cells/actors/cell_dispatcher.hpp"

#include <algorithm>
#include <utility>

#include "cells/actors/capacity_desk.hpp"
#include "cells/actors/cell_dispatcher_actor.hpp"
#include "cells/actors/lease_desk.hpp"
#include "cells/actors/service_client.hpp"
#include "cells/model/pool_terms.hpp"

namespace cells {

CellDispatcherActor::CellDispatcherActor(caf::actor_config& config, EngineOptions options)
    : CellDispatcher::base(config),
      options_(std::move(options)),
      kept_in_memory_(keeps_in_memory(routing())) {
  set_down_handler([this](caf::down_msg& down) {
    // Nothing restarts a cell or a service client, so the death of one ends the engine.
    if (!shutting_down_) quit(down.reason ? down.reason : caf::exit_reason::unknown);
  });
}

CellDispatcher::behavior_type CellDispatcherActor::make_behavior() {
  begin();
  return {
      // CAF tries the handlers in this order, so those that each job needs come first.
      [this](SubmitJob& message) { return submit(message); },
      [this](RequestLeases& message) { return delegate(context_->desk, std::move(message)); },
      [this](EndLease& message) { return to_holder<LeaseEnded>(std::move(message)); },
      [this](CancelJob& message) { return cancel(message); },
      [this](ReopenJob& message) { return reopen_job(message); },
      [this](const DescribeCell& message) { return describe(message.cell); },
      [this](const ListCells& message) { return list(message); },
      [this](const ResizePool& message) { return resize(message); },
      [this](const ChangeCellState& message) { return change_state(message); },
      [this](const ChangeQuota& message) { return change_quota(message); },
      [this](Reconfigure& message) { return reconfigure(message); },
      [this](const ListServices& message) { return list_services(message.only, {}); },
      [this](const ResetService& message) {
        return list_services(message.service, DescribeService{true});
      },
      [this](WithdrawRequests& message) { send(context_->desk, std::move(message)); },
      [this](ReturnLeases& message) { send(context_->desk, std::move(message)); },
      [this](ExtendLease& message) { return to_holder<LeaseExtended>(std::move(message)); },
      [this](const FindLease& message) { return delegate(context_->desk, message); },
      [this](ListLeases& message) { return delegate(context_->desk, std::move(message)); },
      [this](const JobsLeft& message) { take_over(message.customer, message.product, [] {}); },
      [this](const CellRestarted&) { cell_restarted(); },
      [this](const ShutDown& message) { return shut_down(message.grace); },
      [this](const CellIdle& message) { close_if_idle(message.cell); },
      [this](const Tick&) { hand_back(); },
  };
}

void CellDispatcherActor::on_exit() {
  for (const auto& [key, entry] : cells_)
    caf::anon_send_exit(entry.cell, caf::exit_reason::user_shutdown);
  cells_.clear();
  for (const auto& [name, service] : *services_) {
    if (service.client) caf::anon_send_exit(service.client, caf::exit_reason::user_shutdown);
  }
  for (const auto& client : retired_) {
    caf::anon_send_exit(client, caf::exit_reason::user_shutdown);
  }
  retired_.clear();
  services_ = nullptr;
  if (context_) {
    caf::anon_send_exit(context_->desk, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(context_->capacity, caf::exit_reason::user_shutdown);
  }
  fail_reload();
  owed_.fail();
  shutdown_answers_.fail();
  options_ = {};
  context_ = nullptr;
}

// --- Starting ------------------------------------------------------------------------------------

template <class Reply, class Ask, class Then>
void CellDispatcherActor::ask_first(Ask ask, Then then) {
  request(options_.store, caf::infinite, std::move(ask))
      .await([then](Reply& reply) { then(reply); },
             [this](const caf::error& error) { quit(error); });
}

void CellDispatcherActor::begin() {
  ask_first<EpochStarted>(StartEpoch{options_.wall_clock()}, [this](const EpochStarted& started) {
    const LeaseDesk desk = spawn_lease_desk(system(), options_.desks);
    monitor(desk);
    const CapacityDesk capacity = spawn_capacity_desk(system());
    monitor(capacity);
    context_ = std::make_shared<EngineContext>(options_, started.epoch, desk, capacity);
    context_->ids.start_after(started.last_id);
    auto services = std::make_shared<Services>();
    for (const auto& [name, entry] : options_.services) start_service(name, entry, *services);
    services_ = std::move(services);
    limit_leases();
    limit_capacity(options_.running_max);
    find_misplaced(all_backlogs());
  });
}

void CellDispatcherActor::limit_leases() {
  ChangeLimits change;
  for (const auto& [name, service] : *services_) {
    if (!service.client && service.protection.is_any()) {
      change.services.emplace(name, service.protection.limits);
    }
  }
  send(context_->desk, std::move(change));
}

ListBacklogs CellDispatcherActor::all_backlogs() const {
  return {std::nullopt, "", "", options_.store_sizes.backlogs_max};
}

/// The request for the next page of backlogs; none if this page was the last one.
std::optional<ListBacklogs> CellDispatcherActor::backlogs_after(const BacklogsListed& page) const {
  const auto limit = options_.store_sizes.backlogs_max;
  if (page.backlogs.size() < limit) return std::nullopt;
  const StoredBacklog& last = page.backlogs.back();
  return ListBacklogs{last.cell, last.customer, last.product, limit};
}

/// Looks for jobs that the routing sends to another cell than their stored one: a crash may have
/// interrupted a move, and the configuration may have changed. If there are any, they move once the
/// cells have started. Jobs that no cell matches stay where they are and wait for a configuration
/// that has one; their cells are started nevertheless, to abort leftover attempts and to show the
/// jobs.
void CellDispatcherActor::find_misplaced(const ListBacklogs& ask) {
  ask_first<BacklogsListed>(ask, [this](const BacklogsListed& listed) {
    const auto& backlogs = listed.backlogs;
    rerouted_ = std::any_of(backlogs.begin(), backlogs.end(), [this](const StoredBacklog& stored) {
      const auto target = target_of(stored);
      return target && *target != stored.cell;
    });
    const auto more = backlogs_after(listed);
    count_unmatched(listed);
    if (!rerouted_ && more) return find_misplaced(*more);
    if (rerouted_) {
      unmatched_jobs_ = 0;  // The pass that moves jobs counts again.
    } else {
      report_unmatched();
    }
    load_cells();
  });
}

void CellDispatcherActor::load_cells() {
  ask_first<CellsLoaded>(LoadCells{}, [this](const CellsLoaded& loaded) {
    overrides_ = loaded.overrides;
    for (const auto& [key, rule] : routing().rules()) {
      if (!rule.is_template()) start_cell(key);
    }
    for (const auto& key : loaded.with_jobs) {
      if (key != between_cells && !cells_.contains(key)) start_cell(key);
    }
    for (const auto& [key, change] : loaded.overrides) {
      start_instance(key);
      if (!cells_.contains(key)) forget_state(key);  // Its cell left before the stop.
    }
    AwaitCells awaited;
    for (const auto& [key, entry] : cells_) awaited.cells.push_back(key);
    send(context_->capacity, std::move(awaited));
    if (rerouted_) reroute([] {});
  });
}

void CellDispatcherActor::start_service(const std::string& name, const ServiceEntry& entry,
                                        Services& services) {
  ServiceClient client;
  if (entry.start_provider) {
    client = spawn_service_client(system(), name, entry, options_.probe, options_.wall_clock,
                                  options_.desks.permits_max);
    monitor(client);
  }
  services.emplace(name, Service{client, entry.settle, entry.protection, {}, entry.undoes});
}

void CellDispatcherActor::start_instance(const CellKey& key) {
  if (rule_of_cell(key) && !cells_.contains(key)) start_cell(key);
}

CellDispatcherActor::Entry& CellDispatcherActor::running_cell(const CellKey& key) {
  const auto found = cells_.find(key);
  return found == cells_.end() ? start_cell(key) : found->second;
}

/// A cell that is not configured closes as soon as it is idle.
CellDispatcherActor::Entry& CellDispatcherActor::start_cell(const CellKey& key) {
  Entry entry;
  note_rule(key, entry);
  guarantees_.set(key, demand_of(key, entry, override_of(key)));
  divide_guarantees();
  entry.cell = spawn_cell(system(), context_, {key, config_of(key, entry), override_of(key)}, this);
  monitor(entry.cell);
  return cells_.emplace(key, std::move(entry)).first->second;
}

/// The rule for the cell with this key; null if none is configured, or if the key is a template's.
const CellRule* CellDispatcherActor::rule_of_cell(const CellKey& key) const {
  const CellRule* rule = routing().rule_of(key);
  const bool is_template = rule && rule->is_template() && routing().rules().contains(key);
  return is_template ? nullptr : rule;
}

/// Notes what the current configuration says about a cell.
void CellDispatcherActor::note_rule(const CellKey& key, Entry& entry) {
  const CellRule* rule = rule_of_cell(key);
  if (entry.template_of) instances_[*entry.template_of] -= 1;
  entry.template_of.reset();
  if (rule && rule->is_template()) instances_[*(entry.template_of = template_key(*rule))] += 1;
  if (rule) entry.settings = settings_of(*rule);
}

CellConfig CellDispatcherActor::config_of(const CellKey& key, const Entry& entry) const {
  CellConfig config;
  config.settings = entry.settings;
  config.guarantee = guarantees_.of(key);
  config.leaving = rule_of_cell(key) == nullptr;
  config.closes_when_idle = closes_when_idle(key, entry);
  if (rerouted_ || config.leaving) config.routing = options_.routing;
  config.services = services_;
  return config;
}

/// Whether the cell exists only while it has jobs or an override.
bool CellDispatcherActor::closes_when_idle(const CellKey& key, const Entry& entry) const {
  return rule_of_cell(key) == nullptr || entry.template_of;
}

/// An instance has the pool of its template, as configured or as overridden.
CellSettings CellDispatcherActor::settings_of(const CellRule& rule) const {
  CellSettings settings = rule.settings;
  if (rule.is_template()) {
    const auto change = override_of(template_key(rule));
    settings.pool_size = change.pool_size.value_or(settings.pool_size);
    if (change.pool_burst) settings.pool_burst = change.pool_burst;
    settings.pool_weight = change.pool_weight.value_or(settings.pool_weight);
    settings = overridden(std::move(settings), change.quota);
  }
  return settings;
}

CellOverride CellDispatcherActor::override_of(const CellKey& key) const {
  const auto found = overrides_.find(key);
  return found == overrides_.end() ? CellOverride{} : found->second;
}

// --- Guarantees ----------------------------------------------------------------------------------

/// The part of the capacity that the cell demands under this override. The configured size of a
/// cell is reserved; an instance of a template takes what is left.
Guarantees::Demand CellDispatcherActor::demand_of(const CellKey& key, const Entry& entry,
                                                  const CellOverride& change) const {
  if (!rule_of_cell(key)) return {};
  const auto size = pool_terms(entry.settings, change).size;
  return {entry.template_of ? 0 : std::min(size, entry.settings.pool_size), size};
}

void CellDispatcherActor::limit_capacity(std::optional<std::uint64_t> running_max) {
  guarantees_.limit(running_max);
  send(context_->capacity, LimitCapacity{running_max});
}

void CellDispatcherActor::divide_guarantees() {
  for (const auto& key : guarantees_.divide()) {
    const auto found = cells_.find(key);
    if (found != cells_.end()) send(found->second.cell, ChangeGuarantee{guarantees_.of(key)});
  }
}

// --- Idle cells ----------------------------------------------------------------------------------

void CellDispatcherActor::close_if_idle(const CellKey& key) {
  const auto found = cells_.find(key);
  if (found == cells_.end() || found->second.closing || shutting_down_) return;
  found->second.closing = true;
  request(found->second.cell, caf::infinite, AskIdle{})
      .then([this, key](const IdleAnswered& answer) { close_answered(key, answer.idle); },
            [this, key](const caf::error&) { close_answered(key, false); });
}

void CellDispatcherActor::close_answered(const CellKey& key, bool idle) {
  const auto found = cells_.find(key);
  if (found == cells_.end()) return;
  auto waiting = std::exchange(found->second.waiting, {});
  found->second.closing = false;
  // A reload may have configured the cell since it was asked.
  if (idle && closes_when_idle(key, found->second)) {
    demonitor(found->second.cell.address());
    send_exit(found->second.cell, caf::exit_reason::user_shutdown);
    if (found->second.template_of) instances_[*found->second.template_of] -= 1;
    cells_.erase(found);
    send(context_->capacity, CellLeft{key});
    guarantees_.remove(key);
    divide_guarantees();
    forget_state(key);
  }
  for (const auto& ask_again : waiting) ask_again();
}

/// A pause or a drain ends with its cell: without the cell, an operator could neither see nor undo
/// it.
void CellDispatcherActor::forget_state(const CellKey& key) {
  CellOverride change = override_of(key);
  if (change.state == CellState::active) return;
  change.state = CellState::active;
  remember_override(key, change);
  request(options_.store, caf::infinite, SetCellOverride{key, std::move(change)})
      .then([](const CellOverrideSet&) {},
            [](const caf::error&) {});  // The next start tries again.
}

// --- Stopping ------------------------------------------------------------------------------------

/// Stops every cell gracefully; hands back the jobs that still run after the grace period.
caf::result<ShutdownCompleted> CellDispatcherActor::shut_down(milliseconds grace) {
  auto promise = shutdown_answers_.add(make_response_promise<ShutdownCompleted>());
  if (shutting_down_) return promise;
  shutting_down_ = true;
  stopping_cells_ = cells_.size() + 1;
  for (const auto& [key, entry] : cells_) {
    request(entry.cell, caf::infinite, GracefulStop{})
        .then([this](const Stopped&) { cell_stopped(); },
              [this](const caf::error&) { cell_stopped(); });
  }
  delayed_send(this, grace, Tick{});
  cell_stopped();
  return promise;
}

void CellDispatcherActor::cell_stopped() {
  if (--stopping_cells_ == 0) hand_back();
}

/// Necessary even when nothing runs: the answer confirms that every end is recorded. A cell that
/// does not answer in time has calls that may never end.
void CellDispatcherActor::hand_back() {
  if (handing_back_) return;
  handing_back_ = true;
  handing_back_cells_ = cells_.size() + 1;
  for (const auto& [key, entry] : cells_) {
    request(entry.cell, hand_back_patience, HandBack{})
        .then([this](const HandedBack& answer) { cell_handed_back(answer.count); },
              [this, key = key, cell = entry.cell](const caf::error&) {
                count_unconfirmed(key, cell);
              });
  }
  cell_handed_back(0);
}

void CellDispatcherActor::count_unconfirmed(const CellKey& key, const Cell& cell) {
  request(cell, caf::infinite, DescribeCell{key})
      .then(
          [this, key](const CellDescribed& described) {
            const auto running = described.status->queue.counts[JobState::running];
            if (running > 0) shutdown_so_far_.unconfirmed[key] = running;
            cell_handed_back(0);
          },
          [this](const caf::error&) { cell_handed_back(0); });
}

void CellDispatcherActor::cell_handed_back(std::size_t count) {
  shutdown_so_far_.handed_back += count;
  if (--handing_back_cells_ > 0) return;
  request(options_.store, caf::infinite, FlushStore{})
      .then([this](const StoreFlushed&) { shutdown_answers_.deliver(shutdown_so_far_); },
            [this](const caf::error&) { shutdown_answers_.fail(); });
}

CellDispatcher spawn_cell_dispatcher(caf::actor_system& system, EngineOptions options) {
  return system.spawn<CellDispatcherActor>(std::move(options));
}

}  // namespace cells
