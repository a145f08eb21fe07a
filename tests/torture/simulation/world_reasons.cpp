// The reasons to refuse a request: those that may have been true at some moment between the request
// and its answer, and those that certainly were.
#include <algorithm>

#include "tests/torture/simulation/world.hpp"

namespace simulation {

bool is_without_undo(const Reconfigure& order, const std::string& service) {
  const auto found = order.services.find(service);
  return found != order.services.end() && found->second.undoes.is_empty();
}

bool happened_since(const std::map<JobId, SteadyTime>& times, JobId id, SteadyTime since) {
  const auto found = times.find(id);
  return found != times.end() && found->second >= since;
}

/// A job that is not admitted in the end may have been counted while its key was looked up.
void World::note_turned_away() {
  while (!turned_away_.empty() && turned_away_.front() < now_steady - CellCounts::memory) {
    turned_away_.pop_front();
  }
  turned_away_.push_back(now_steady);
}

/// Called when a reason may begin or cease to be true.
void World::note_reasons() {
  for (auto& [number, request] : pending_) note_reasons(request);
}

void World::note_reasons(PendingRequest& request) const {
  if (request.job && (request.spec ? could_not_reopen(request) : could_not_cancel(request))) {
    request.possible |= job_unsuited;
  }
  if (request.enlarged && may_lack_room(request.enlarged->first, request.enlarged->second)) {
    request.possible |= no_room;
  }
  if (!request.spec) return;
  for (const Routing* routing : possible_routings()) {
    request.possible |= possible_reasons(*routing, request);
  }
  if (is_shutting_down() || dying_) request.possible |= reason(Refusal::Kind::shutting_down);
  if (may_lack_service(*request.spec)) request.possible |= reason(Refusal::Kind::service_removed);
  if (key_may_be_taken(request)) request.possible |= reason(Refusal::Kind::key_reused);
  request.certain &= certain_reasons(request);
}

Reasons World::possible_reasons(const Routing& routing, PendingRequest& request) const {
  const JobSpec& spec = *request.spec;
  const CellRule* rule = rule_for(routing, spec.customer, spec.product);
  if (!rule) return reason(Refusal::Kind::no_cell);
  const CellKey cell = cell_under(*rule, spec.customer, spec.product);
  const std::uint64_t limit = settings_of(*rule, cell).jobs_max;
  const bool changing = is_changing(cell);
  request.cells.insert(cell);
  request.jobs_limits.insert(limit);
  request.limits_change |= changing;
  Reasons reasons = quota_reasons(*rule, cell, request);
  if (changing || override_of(cell).state == CellState::draining) {
    reasons |= reason(Refusal::Kind::draining);
  }
  if (!request.job && spec.timeout > rule->settings.timeout_max) {
    reasons |= reason(Refusal::Kind::timeout_too_long);
  }
  if (jobs_at_most(cell, request.asked) >= limit) reasons |= reason(Refusal::Kind::queue_full);
  if (rule->is_template() && instances_at_most(routing, *rule) >= instances_max) {
    reasons |= reason(Refusal::Kind::too_many_cells);
  }
  return reasons;
}

/// The cells that have begun, and those that may be about to begin: because a request was sent to
/// them, or because of what is on disk.
std::set<CellKey> World::cells_at_most(const Routing& routing) const {
  std::set<CellKey> cells;
  if (const auto begun = actors.find("cell"); begun != actors.end()) {
    for (const auto& actor : begun->second) {
      if (caf::actor_cast<caf::strong_actor_ptr>(actor.address)) cells.insert(actor.cell);
    }
  }
  for (const auto& [number, request] : pending_) {
    cells.insert(request.cells.begin(), request.cells.end());
  }
  for (const auto& [cell, change] : disk->content().overrides) cells.insert(cell);
  for (const auto& [id, stored] : disk->jobs()) {
    const Job& job = *stored.job;
    if (is_ended(job.state) && job.place == 0) continue;
    cells.insert(job.cell);
    const auto target = cell_for(routing, job.spec->customer, job.spec->product);
    if (target) cells.insert(*target);
  }
  return cells;
}

std::size_t World::instances_at_most(const Routing& routing, const CellRule& rule) const {
  const auto cells = cells_at_most(routing);
  return static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), [&](const auto& cell) {
    return rule_of_cell(routing, cell) == &rule;
  }));
}

/// What the cell may demand of the capacity: nothing if it is not configured.
std::uint32_t World::size_at_most(const Routing& routing, const CellKey& cell) const {
  const CellRule* rule = rule_of_cell(routing, cell);
  const CellKey key = rule ? CellKey{rule->customer, rule->product} : cell;
  if (!rule || (rule->is_template() && key == cell)) return 0;
  const auto since = now_steady - in_transit;
  std::uint32_t configured = rule->settings.pool_size;
  if (rule->is_template()) {
    configured = std::max(configured, sizes_since(key, configured, since).most);
    const auto began = instance_sizes_.find(cell);
    if (began != instance_sizes_.end()) configured = std::max(configured, began->second.most);
  }
  return sizes_since(cell, configured, since).most;
}

bool World::may_lack_room(const CellKey& cell, std::uint32_t size) const {
  const auto routings = possible_routings();
  return std::any_of(routings.begin(), routings.end(),
                     [&](const Routing* routing) { return may_lack_room(*routing, cell, size); });
}

/// Whether the cell may be denied the size: because of its burst, or because all cells that may
/// exist take the capacity, each with the most that it may demand.
bool World::may_lack_room(const Routing& routing, const CellKey& cell, std::uint32_t size) const {
  const CellRule* rule = rule_of_cell(routing, cell);
  if (!rule) return true;  // Its burst is that of an earlier configuration.
  if (rule->settings.pool_burst && *rule->settings.pool_burst < size) return true;
  if (rule->is_template() && routing.rules().contains(cell)) return false;
  std::set<CellKey> others = cells_at_most(routing);
  for (const auto& [key, each] : routing.rules()) others.insert(key);
  for (const auto& [key, changes] : changes_pending_) {
    if (changes > 0) others.insert(key);  // A change starts the instance that it is for.
  }
  others.erase(cell);
  std::uint64_t sizes = size;
  for (const auto& other : others) sizes += size_at_most(routing, other);
  std::vector<std::optional<std::uint64_t>> totals = {running_max_};
  if (reload_) totals.push_back(reload_->running_max);
  if (now_steady <= rerouted_at_ + in_transit) totals.push_back(former_running_max_);
  return std::any_of(totals.begin(), totals.end(),
                     [&](const auto& total) { return total && *total < sizes; });
}

/// Without the reasons that depend on what other requests do meanwhile.
Reasons World::certain_reasons(const PendingRequest& request) const {
  Reasons reasons = is_shutting_down() ? reason(Refusal::Kind::shutting_down) : 0;
  if (reload_ || possible_routings().size() > 1) return reasons;
  const JobSpec& spec = *request.spec;
  if (!request.job && lacks_service(spec)) reasons |= reason(Refusal::Kind::service_removed);
  const CellRule* rule = rule_for(*routing_, spec.customer, spec.product);
  if (!rule) return reasons | reason(Refusal::Kind::no_cell);
  const CellKey cell = cell_under(*rule, spec.customer, spec.product);
  if (!is_changing(cell) && override_of(cell).state == CellState::draining) {
    reasons |= reason(Refusal::Kind::draining);
  }
  if (!request.job && spec.timeout > rule->settings.timeout_max) {
    reasons |= reason(Refusal::Kind::timeout_too_long);
  }
  return reasons;
}

/// A reload that has not been answered may already be in force.
std::vector<const Routing*> World::possible_routings() const {
  std::vector<const Routing*> routings = {routing_.get()};
  if (reload_) routings.push_back(reload_->routing.get());
  if (former_routing_ && now_steady <= rerouted_at_ + in_transit) {
    routings.push_back(former_routing_.get());
  }
  return routings;
}

bool World::lacks_service(const JobSpec& spec) const {
  const bool compensates = spec.on_failure == OnFailure::compensate;
  return std::any_of(spec.services.begin(), spec.services.end(), [&](const auto& name) {
    return !services_.contains(name) || (compensates && without_undo_.contains(name));
  });
}

bool World::may_lack_service(const JobSpec& spec) const {
  if (lacks_service(spec)) return true;
  const bool compensates = spec.on_failure == OnFailure::compensate;
  return reload_ && std::any_of(spec.services.begin(), spec.services.end(), [&](const auto& name) {
           return reload_->services_removed.contains(name) ||
                  (compensates && is_without_undo(*reload_, name));
         });
}

/// The digest of the request whose job holds the key on disk.
std::optional<std::string> World::digest_under(const PendingRequest& request) const {
  const auto& holders = disk->content().key_holders;
  const auto found = holders.find({request.spec->customer, request.idempotency->key});
  return found == holders.end() ? std::nullopt : std::optional{found->second.second};
}

bool World::key_may_be_taken(const PendingRequest& request) const {
  if (!request.idempotency) return false;
  const auto& [key, digest] = *request.idempotency;
  if (const auto on_disk = digest_under(request); on_disk && *on_disk != digest) return true;
  for (const auto& [number, other] : pending_) {
    if (!other.idempotency || other.spec->customer != request.spec->customer) continue;
    if (other.idempotency->key == key && other.idempotency->digest != digest) return true;
  }
  return false;
}

/// The most unfinished jobs that the cell can have counted at any moment since then.
std::size_t World::jobs_at_most(const CellKey& cell, SteadyTime since) const {
  const auto under_way = std::count_if(pending_.begin(), pending_.end(), [](const auto& item) {
    return item.second.spec != nullptr;
  });
  const auto turned_away =
      turned_away_.end() -
      std::lower_bound(turned_away_.begin(), turned_away_.end(), since - in_transit);
  return cell_counts_.unfinished(cell) + cell_counts_.left(cell, since - in_transit) +
         static_cast<std::size_t>(under_way + turned_away) + 1;
}

std::size_t World::jobs_at_least(const CellKey& cell, SteadyTime since) const {
  std::size_t jobs = cell_counts_.unfinished(cell);
  std::size_t gone = cell_counts_.came(cell, since - in_transit);
  for (const auto& [id, end] : ended_) gone += end.is_last && end.cell == cell ? 1 : 0;
  for (const auto& [id, stored] : disk->jobs()) {
    const Job& job = *stored.job;
    const bool waits = !is_ended(job.state) && job.state != JobState::running;
    gone += waits && job.cell == cell && job.expires_at && *job.expires_at <= latest_wall ? 1 : 0;
    gone += waits && job.cell == cell && must_fall_.contains(id) ? 1 : 0;
  }
  return jobs - std::min(jobs, gone);
}

/// Whether the job is, or has meanwhile been, in a state in which it cannot be cancelled.
bool World::could_not_cancel(const PendingRequest& request) const {
  const JobId id = request.job->id;
  const auto stored = disk->jobs().find(id);
  return stored == disk->jobs().end() || !can_cancel(*stored->second.job) ||
         stored->second.job->cell != request.job->cell ||
         happened_since(ended_at_, id, request.asked) ||
         happened_since(moved_at_, id, request.asked);
}

bool World::could_not_reopen(const PendingRequest& request) const {
  const JobId id = request.job->id;
  const auto stored = disk->jobs().find(id);
  return stored == disk->jobs().end() || !can_reopen(*request.job) ||
         !can_reopen(*stored->second.job) || happened_since(reopened_at_, id, request.asked);
}

}  // namespace simulation
