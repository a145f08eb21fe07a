// The switch to another configuration while jobs run (promise P12), and the moves of jobs to the
// cells that the routing names, which a start may need too. cells/model/reload.hpp has the states
// of a reload; each state has one function here that does what is due in it.
#include <algorithm>
#include <limits>
#include <utility>

#include "cells/actors/cell_dispatcher_actor.hpp"
#include "cells/model/pool_terms.hpp"

namespace cells {

struct CellDispatcherActor::Reload {
  Reconfigure order;
  caf::typed_response_promise<Reconfigured> promise;
  ReloadCourse course;
  bool may_change_durability = false;
  /// The actions that services can no longer undo.
  std::map<std::string, ActionSet> undos_removed{};
  std::map<std::string, std::uint64_t> needed{};  ///< Unfinished jobs by the service they need.
  std::map<std::string, std::uint64_t> undos_needed{};  ///< The same, by the undo they need.
  std::map<CellKey, std::uint64_t> kept_otherwise{};
  std::vector<ServiceClient> leaving{};

  bool is_refused() const {
    return !needed.empty() || !undos_needed.empty() || !kept_otherwise.empty();
  }
};

caf::result<Reconfigured> CellDispatcherActor::reconfigure(Reconfigure& order) {
  if (reload_ || shutting_down_)
    return caf::make_error(caf::sec::runtime_error, "a reload or a shutdown is in progress");
  auto promise = make_response_promise<Reconfigured>();
  kept_in_memory_ = kept_in_memory_ || keeps_in_memory(*order.routing);
  const bool changes_cells = kept_in_memory_ && order.routing->rules() != routing().rules();
  auto undos_removed = undos_removed_by(order);
  const ReloadCourse course{changes_cells || !order.services_removed.empty() ||
                            !undos_removed.empty()};
  reload_ = std::make_shared<Reload>(
      Reload{std::move(order), promise, course, changes_cells, std::move(undos_removed)});
  do_what_is_due();
  return promise;
}

void CellDispatcherActor::do_what_is_due() {
  switch (reload_->course.state()) {
    case ReloadState::storing:
      return await_insertions();
    case ReloadState::counting:
      return count_needs();
    case ReloadState::configuring:
      change_services();
      return change_terms();
    case ReloadState::moving:
      return move_jobs();
    case ReloadState::completed:
      return complete_reload();
    case ReloadState::refused:
      return refuse_reload();
  }
}

/// Tells the course what has happened; `event` is one of its methods.
template <class Event, class... Arguments>
void CellDispatcherActor::advance(Event event, Arguments... arguments) {
  const auto before = reload_->course.state();
  (reload_->course.*event)(arguments...);
  if (reload_->course.state() != before) do_what_is_due();
}

template <class MessageFor>
void CellDispatcherActor::ask_every_cell(MessageFor message_for) {
  const auto answered = [this] { advance(&ReloadCourse::cell_answered); };
  for (auto& [key, entry] : cells_) {
    request(entry.cell, caf::infinite, message_for(key, entry))
        .then([answered](const CellDescribed&) { answered(); },
              [answered](const caf::error&) { answered(); });  // The cell has closed.
  }
  advance(&ReloadCourse::cells_asked, cells_.size());
}

void CellDispatcherActor::fail_reload() {
  if (!reload_) return;
  reload_->promise.deliver(caf::make_error(caf::sec::request_receiver_down));
  reload_ = nullptr;
}

// --- Services ------------------------------------------------------------------------------------

/// For each service that stays, the actions that it can no longer undo.
std::map<std::string, ActionSet> CellDispatcherActor::undos_removed_by(
    const Reconfigure& order) const {
  std::map<std::string, ActionSet> removed;
  for (const auto& [name, entry] : order.services) {
    const auto found = services_->find(name);
    if (found == services_->end()) continue;
    auto actions = without(found->second.undoes, entry.undoes);
    if (!actions.is_empty()) removed.emplace(name, std::move(actions));
  }
  return removed;
}

/// Whether every service of the job is configured as the job needs it, and will stay so.
bool CellDispatcherActor::takes_services_of(const JobSpec& spec) const {
  const auto configured = [&](const auto& name) {
    const auto found = services_->find(name);
    return found != services_->end() &&
           (spec.on_failure != OnFailure::compensate || found->second.undoes.contains(spec.action));
  };
  return std::all_of(spec.services.begin(), spec.services.end(), configured) &&
         !is_losing_services_of(spec);
}

/// Whether the reload in progress may remove a service of the job, or an undo that the job may
/// need. An ended job does not keep its services configured; if it were reopened now, it could
/// start a call at a service client that is about to end.
bool CellDispatcherActor::is_losing_services_of(const JobSpec& spec) const {
  if (!reload_) return false;
  const bool compensates = spec.on_failure == OnFailure::compensate;
  const auto going = [&](const auto& name) {
    if (reload_->order.services_removed.contains(name)) return true;
    const auto undos = reload_->undos_removed.find(name);
    return compensates && undos != reload_->undos_removed.end() &&
           undos->second.contains(spec.action);
  };
  return std::any_of(spec.services.begin(), spec.services.end(), going);
}

/// Whether the reload in progress would change the durability of a job like this.
bool CellDispatcherActor::is_changing_durability_of(const JobSpec& spec) const {
  if (!reload_ || !reload_->may_change_durability) return false;
  const auto now = routing().find(spec.customer, spec.product);
  return now && conflicting_rule(*reload_->order.routing, now->cell, spec.customer, spec.product,
                                 now->rule->settings.durability) != nullptr;
}

/// Whether the reload in progress would remove one of the job's services or change the job's
/// durability, but may still be refused itself. Until that is decided, the job is neither accepted
/// nor refused.
bool CellDispatcherActor::is_undecided(const JobSpec& spec) const {
  if (!reload_ || reload_->course.is_decided()) return false;
  return is_losing_services_of(spec) || is_changing_durability_of(spec);
}

void CellDispatcherActor::decided() {
  for (const auto& ask_again : std::exchange(undecided_, {})) ask_again();
}

/// Requests for jobs that the reload concerns wait from now on (is_undecided). Jobs that were on
/// their way to a dispatcher have reached the store by the time that dispatcher answers.
void CellDispatcherActor::await_insertions() {
  ask_every_cell([](const CellKey& key, const Entry&) { return DescribeCell{key}; });
}

void CellDispatcherActor::count_needs() {
  const auto& removed = reload_->order.services_removed;
  if (removed.empty() && reload_->undos_removed.empty()) return find_conflicts();
  request(options_.store, caf::infinite, CountNeeds{removed, reload_->undos_removed})
      .then(
          [this](NeedsCounted& needs) {
            reload_->needed = std::move(needs.jobs);
            reload_->undos_needed = std::move(needs.undos);
            find_conflicts();
          },
          [this](caf::error& error) { fail_counting(error); });
}

void CellDispatcherActor::fail_counting(caf::error& error) {
  reload_->promise.deliver(std::move(error));
  reload_ = nullptr;
  decided();
}

/// Counts the open jobs whose durability the new configuration would change. Lists each kind in one
/// page: between two pages, jobs could move from a backlog still to be listed to one that already
/// has been, and be missed.
void CellDispatcherActor::find_conflicts() {
  if (!reload_->may_change_durability) {
    advance(&ReloadCourse::needs_counted, reload_->is_refused());
    return;
  }
  const auto all = [](Durability kept) {
    return ListBacklogs{std::nullopt, "", "", std::numeric_limits<std::uint32_t>::max(), kept};
  };
  const auto failed = [this](caf::error& error) { fail_counting(error); };
  const auto memory_listed = [this](const BacklogsListed& listed) {
    note_conflicts(listed, Durability::memory);
    advance(&ReloadCourse::needs_counted, reload_->is_refused());
  };
  request(options_.store, caf::infinite, all(Durability::disk))
      .then(
          [this, all, failed, memory_listed](const BacklogsListed& listed) {
            note_conflicts(listed, Durability::disk);
            request(options_.store, caf::infinite, all(Durability::memory))
                .then(memory_listed, failed);
          },
          failed);
}

void CellDispatcherActor::note_conflicts(const BacklogsListed& listed, Durability kept) {
  for (std::size_t i = 0; i < listed.backlogs.size(); ++i) {
    const auto& [cell, customer, product] = listed.backlogs[i];
    const auto* rule = conflicting_rule(*reload_->order.routing, cell, customer, product, kept);
    if (rule) reload_->kept_otherwise[template_key(*rule)] += listed.jobs[i];
  }
}

void CellDispatcherActor::refuse_reload() {
  reload_->promise.deliver(Reconfigured{std::move(reload_->needed),
                                        {},
                                        std::move(reload_->kept_otherwise),
                                        std::move(reload_->undos_needed)});
  reload_ = nullptr;
  decided();
}

void CellDispatcherActor::change_services() {
  decided();
  auto services = std::make_shared<Services>(*services_);
  for (const auto& name : reload_->order.services_removed) {
    const auto found = services->find(name);
    if (found == services->end()) continue;
    for (const auto& client : {found->second.client, found->second.former}) {
      if (client) reload_->leaving.push_back(client);
      std::erase(retired_, client);
    }
    services->erase(found);
  }
  for (const auto& [name, entry] : reload_->order.services) {
    const auto found = services->find(name);
    if (found == services->end()) {
      start_service(name, entry, *services);
      continue;
    }
    Service& service = found->second;
    service.settle = entry.settle;
    service.protection = entry.protection;
    service.undoes = entry.undoes;
    if (service.client && entry.start_provider) {
      caf::anon_send(service.client, ReplaceProvider{entry});
    } else if (service.client) {  // Workers outside take over; calls that have begun go on.
      service.former = std::exchange(service.client, nullptr);
      retired_.push_back(service.former);
    } else if (entry.start_provider && service.former) {  // It may still have calls.
      service.client = std::exchange(service.former, nullptr);
      std::erase(retired_, service.client);
      caf::anon_send(service.client, ReplaceProvider{entry});
    } else if (entry.start_provider) {
      services->erase(found);
      start_service(name, entry, *services);
    }
  }
  services_ = std::move(services);
  limit_leases();
}

// --- Cells ---------------------------------------------------------------------------------------

void CellDispatcherActor::change_terms() {
  rerouted_ = rerouted_ || routing().rules() != reload_->order.routing->rules();
  options_.routing = reload_->order.routing;
  for (auto& [key, entry] : cells_) {
    note_rule(key, entry);
    guarantees_.set(key, demand_of(key, entry, override_of(key)));
  }
  limit_capacity(reload_->order.running_max);
  guarantees_.divide();  // Every cell gets its guarantee with its settings.
  ask_every_cell([this](const CellKey& key, const Entry& entry) {
    return ConfigureCell{config_of(key, entry)};
  });
}

/// All jobs submitted earlier are in the store, and no dispatcher hands out a job that belongs to
/// another cell: the backlogs in the store can be checked.
void CellDispatcherActor::move_jobs() {
  for (const auto& [key, rule] : routing().rules()) start_instance(key);
  for (const auto& [key, change] : overrides_) start_instance(key);
  const auto moved = [this] { advance(&ReloadCourse::jobs_moved); };
  if (rerouted_) {
    reroute(moved);
  } else {
    moved();
  }
}

void CellDispatcherActor::complete_reload() {
  for (const auto& client : reload_->leaving) {
    demonitor(client.address());
    send_exit(client, caf::exit_reason::user_shutdown);
  }
  reload_->promise.deliver(Reconfigured{{}, masked(), {}});
  reload_ = nullptr;
}

std::vector<MaskedSetting> CellDispatcherActor::masked() const {
  std::vector<MaskedSetting> masked;
  for (const auto& [key, change] : overrides_) {
    const CellRule* rule = routing().rule_of(key);
    if (!rule) continue;
    const auto guarantee = cells_.contains(key) ? guarantees_.of(key) : pool_size_max;
    const auto found = masked_pool_settings(key, rule->settings, change, guarantee);
    masked.insert(masked.end(), found.begin(), found.end());
    const auto limit = [](double value) {
      return value == 0 ? std::nullopt : std::optional<double>(value);
    };
    for (const auto& [quota, value] : change.quota) {
      masked.push_back({key, std::string(to_string(quota)), limit(quota_of(rule->settings, quota)),
                        limit(value)});
    }
  }
  return masked;
}

// --- Jobs ----------------------------------------------------------------------------------------

/// The dead dispatcher may have taken notifications with it. Every cell adopts its settings and
/// fetches its jobs again, and all backlogs are checked against the routing.
void CellDispatcherActor::cell_restarted() {
  if (!rerouted_ || shutting_down_) return;
  for (const auto& [key, entry] : cells_) {
    caf::anon_send(entry.cell, ConfigureCell{config_of(key, entry)});
  }
  reroute([] {});
}

/// Moves every waiting job to the cell that the routing names, then calls `then`. A pass over the
/// backlogs that has already begun may have missed some of them, so another pass follows it.
void CellDispatcherActor::reroute(std::function<void()> then) {
  const bool under_way = !after_rerouting_.empty();
  (under_way ? after_next_rerouting_ : after_rerouting_).push_back(std::move(then));
  if (!under_way) reroute_page(all_backlogs());
}

void CellDispatcherActor::reroute_page(const ListBacklogs& ask) {
  request(options_.store, caf::infinite, ask)
      .then(
          [this](const BacklogsListed& listed) {
            const auto& backlogs = listed.backlogs;
            next_backlogs_ = backlogs_after(listed);
            rerouting_ = backlogs.size() + 1;
            count_unmatched(listed);
            for (const auto& backlog : backlogs) move_backlog(backlog);
            backlog_done();
          },
          [this](const caf::error& error) { quit(error); });
}

/// Counts the jobs that no cell matches.
void CellDispatcherActor::count_unmatched(const BacklogsListed& listed) {
  for (std::size_t i = 0; i < listed.backlogs.size(); ++i) {
    const auto& backlog = listed.backlogs[i];
    if (routing().find(backlog.customer, backlog.product)) continue;
    unmatched_jobs_ += listed.jobs[i];
    unmatched_ = backlog;
  }
}

void CellDispatcherActor::report_unmatched() {
  if (const auto jobs = std::exchange(unmatched_jobs_, 0); jobs > 0) {
    options_.probe->jobs_without_cell(jobs, unmatched_.customer, unmatched_.product);
  }
}

void CellDispatcherActor::backlog_done() {
  if (--rerouting_ > 0) return;
  if (next_backlogs_) return reroute_page(*next_backlogs_);
  if (after_next_rerouting_.empty()) {
    report_unmatched();
  } else {
    unmatched_jobs_ = 0;  // Another pass counts again.
  }
  const auto actions = std::exchange(after_rerouting_, std::exchange(after_next_rerouting_, {}));
  if (!after_rerouting_.empty()) reroute_page(all_backlogs());
  for (const auto& then : actions) then();
}

/// The cell that the jobs belong to. If none matches, jobs that are in a cell stay there. Jobs
/// between two cells get one that is not configured: it starts none of them, but it shows them, and
/// ends them when they expire.
std::optional<CellKey> CellDispatcherActor::target_of(const StoredBacklog& backlog) const {
  if (const auto route = routing().find(backlog.customer, backlog.product)) return route->cell;
  if (backlog.cell != between_cells) return std::nullopt;
  return CellKey{backlog.customer, backlog.product};
}

/// Starts both cells if necessary: the one that the jobs are in, even if it is not configured, so
/// that it aborts leftover attempts; and the one that they belong to, which may be new.
void CellDispatcherActor::move_backlog(const StoredBacklog& backlog) {
  const auto target = target_of(backlog);
  if (shutting_down_ || !target) return backlog_done();
  if (*target == backlog.cell) {
    running_cell(backlog.cell);
    return backlog_done();
  }
  const auto take = [this, customer = backlog.customer, product = backlog.product] {
    take_over(customer, product, [this] { backlog_done(); });
  };
  if (backlog.cell == between_cells) return take();
  request(running_cell(backlog.cell).cell, caf::infinite,
          ReleaseJobs{backlog.customer, backlog.product})
      .then([take](const JobsReleased&) { take(); },
            [this](const caf::error&) { backlog_done(); });  // The cell has closed: it was idle.
}

/// The jobs are accepted, so they get their cell even if its template has reached its limit of
/// instances.
void CellDispatcherActor::take_over(const std::string& customer, const std::string& product,
                                    const std::function<void()>& then) {
  if (shutting_down_) return then();
  Entry& entry = running_cell(*target_of({between_cells, customer, product}));
  if (entry.closing) {
    entry.waiting.emplace_back([=, this] { take_over(customer, product, then); });
    return;
  }
  request(entry.cell, caf::infinite, TakeOver{{between_cells, customer, product}})
      .then([then](const TakenOver&) { then(); },
            // The cell has closed meanwhile.
            [this, customer, product, then](const caf::error&) {
              take_over(customer, product, then);
            });
}

}  // namespace cells
