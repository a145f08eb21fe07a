#include "tests/simulation/world.hpp"

#include <algorithm>

namespace simulation {
namespace {

constexpr milliseconds abort_allowance{100};  // Promise P8.

std::string name(const Job& job) {
  return format_job_id(job.id);
}

}  // namespace

EntityName entity_of(const Job& job) {
  return {job.spec->customer, job.spec->product, job.spec->entity.type, job.spec->entity.id};
}

World::World(std::uint64_t seed) : dice(seed) {
  disk->on_commit = [this](const JobPtr& before, const Job& after) { committed(before, after); };
  disk->on_prune = [this](const Job& job) { pruned(job); };
}

void World::note(const std::string& line) {
  for (const char c : line) {
    trace_hash = (trace_hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  if (keep_trace) {
    trace.push_back(std::to_string(now_steady.time_since_epoch().count() / 1000) + " ms  " + line);
  }
}

void World::violated(const std::string& promise, const std::string& what) {
  note("VIOLATION of " + promise + ": " + what);
  violations.push_back(promise + ": " + what);
}

void World::accepted(const JobPtr& job) {
  note("accepted " + name(*job));
  accepted_jobs.insert(job->id);
  if (!disk->jobs().contains(job->id) && !pruned_jobs.contains(job->id)) {
    violated("P1", name(*job) + " is not on disk");
  }
}

void World::accepted_under(const Idempotency& idempotency, const Job& job) {
  if (pruned_jobs.contains(job.id)) return;  // The key may have another holder by now.
  const std::pair made{job.id, idempotency.digest};
  const auto [known, first] = named_.try_emplace({job.spec->customer, idempotency.key}, made);
  if (!first && known->second != made) violated("keys", name(job) + " is a second job under a key");
}

void World::cancel_accepted(const Job& job) {
  note("cancelling " + name(job));
  if (pruned_jobs.contains(job.id)) return;
  const Job& stored = *disk->jobs().at(job.id).job;
  if (is_ended(stored.state) ? stored.state != JobState::cancelled : !stored.cancel_requested) {
    if (!reopened_.contains(job.id)) violated("P1", name(job) + " forgot that it was cancelled");
  } else if (!is_ended(stored.state)) {
    to_be_cancelled_.insert(job.id);
  }
}

void World::change_asked(const CellKey& cell) {
  changes_pending_[cell] += 1;
}

void World::change_answered(const CellKey& cell) {
  note("changed " + to_string(cell));
  changes_pending_[cell] -= 1;
}

void World::reload_asked() {
  note("reload");
  reload_pending_ = true;
}

void World::reload_answered(const Reconfigure& order, bool in_force) {
  note(in_force ? "reloaded" : "not reloaded");
  reload_pending_ = false;
  if (!in_force) return;
  set_sizes(*order.routing);
  for (const auto& [id, stored] : disk->jobs()) {
    const Job& job = *stored.job;
    if (is_ended(job.state) || reopened_.contains(id)) continue;
    for (std::size_t step = job.step; step < job.spec->services.size(); ++step) {
      if (order.services_gone.contains(job.spec->services[step])) {
        violated("P12", name(job) + " needs a service that went");
      }
    }
  }
}

/// Cells that leave keep the size that they had.
void World::set_sizes(const Routing& routing) {
  for (const auto& [key, rule] : routing.rules()) {
    if (!rule.is_template()) configured_size_[key] = rule.quota.pool_size;
  }
  std::erase_if(configured_size_, [&](const auto& item) {
    const CellRule* rule = routing.rule_of(item.first);
    return rule && rule->is_template();
  });
}

void World::call_started(const StartCall& call, const void* provider) {
  const Job& job = *call.job;
  calls += 1;
  note("call " + name(job) + " step " + std::to_string(job.step) + " attempt " +
       std::to_string(job.steps[job.step].attempts) + " lease " + to_string(call.lease));
  for (const auto& [lease, other] : in_flight_) {
    if (other.job->id == job.id) violated("P5", name(job) + " has two calls at once");
    if (entity_of(*other.job) == entity_of(job)) {
      violated("P6", name(job) + " and " + name(*other.job) + " call for one entity at once");
    }
  }
  if (const auto stored = disk->jobs().find(job.id);
      stored != disk->jobs().end() && is_ended(stored->second.job->state)) {
    violated("P2", name(job) + " is called for after its end");
  }
  if (last_lease_[job.id] >= call.lease) violated("P3", name(job) + " went back to an old lease");
  last_lease_[job.id] = call.lease;
  if (const auto kept = kept_until_.find(entity_of(job));
      !clock_jumped && kept != kept_until_.end() && now_wall < kept->second) {
    violated("P6", name(job) + " calls for an entity that is kept");
  }
  if (job.steps[job.step].attempts > job.spec->max_attempts) {
    violated("P2", name(job) + " is tried too often");
  }
  in_flight_[call.lease] = {call.job, now_steady + call.timeout, provider};
}

void World::call_ended(Lease lease) {
  in_flight_.erase(lease);
}

void World::provider_died(const void* provider) {
  std::erase_if(in_flight_, [&](const auto& item) { return item.second.provider == provider; });
}

void World::daemon_started(const Routing& routing) {
  note("daemon started");
  set_sizes(routing);
}

void World::daemon_crashed() {
  note("daemon crashed");
  in_flight_.clear();
  live_.clear();
  handed_out_at_.clear();
  changes_pending_.clear();
  reload_pending_ = false;
  actors.clear();
}

void World::check_deadlines() {
  for (const auto& [lease, call] : in_flight_) {
    if (now_steady > call.deadline + abort_allowance) {
      violated("P8", name(*call.job) + " is still called for after its deadline");
    }
  }
}

void World::check_all_ended() {
  for (const JobId id : accepted_jobs) {
    if (!disk->jobs().contains(id) && !pruned_jobs.contains(id)) {
      violated("P1", format_job_id(id) + " is lost");
    }
  }
  for (const auto& [id, stored] : disk->jobs()) {
    if (!is_ended(stored.job->state)) {
      const Job& job = *stored.job;
      violated("liveness", name(job) + " of " + job.spec->customer + "/" + job.spec->product +
                               " is still " + std::string(to_string(job.state)) + " in " +
                               to_string(job.cell) + (stored.marks.head ? "" : ", behind others") +
                               (stored.marks.held ? ", held" : ""));
    }
  }
  for (const auto& [cell, leases] : live_) {
    if (!leases.empty()) violated("P4", to_string(cell) + " keeps a lease for nothing");
  }
}

void World::spawned(std::string_view role, const CellKey& cell, const caf::actor& actor) {
  actors[std::string(role)].push_back(actor.address());
  if (role == "dispatcher") {  // Whatever its predecessor handed out is no lease of its own.
    live_[cell].clear();
  }
}

void World::handed_out(const Job& job, std::size_t running, std::size_t max) {
  note("handed out " + name(job) + " in " + to_string(job.cell));
  auto& live = live_[job.cell];
  live.insert(job.lease);
  handed_out_at_[job.lease] = now_steady;
  if (running > max) violated("P4", to_string(job.cell) + " runs more than its bound");
  if (changes_pending_[job.cell] == 0 && !reload_pending_) {
    const auto found = disk->content().overrides.find(job.cell);
    const auto change = found == disk->content().overrides.end() ? CellOverride{} : found->second;
    const std::uint32_t target = change.pool_size.value_or(configured_size_[job.cell]);
    if (change.state == CellState::paused) {
      violated("pause", to_string(job.cell) + " starts a job while it is paused");
    }
    if (target != 0 && live.size() > target) {
      violated("P4", to_string(job.cell) + " started its " + std::to_string(live.size()) +
                         "th job with a target of " + std::to_string(target));
    }
  }
  if (!clock_jumped && job.run_at > now_wall) violated("P10", name(job) + " started too early");
}

void World::lease_ended(const Job& before, const Job& after, AbortCause cause) {
  note("ended " + name(before) + " → " + std::string(to_string(after.state)));
  live_[before.cell].erase(before.lease);
  const auto start = handed_out_at_.find(before.lease);
  if (start == handed_out_at_.end()) return;
  if (cause == AbortCause::timeout && now_steady < start->second + before.spec->timeout) {
    violated("P10", name(before) + " timed out too early");
  }
  handed_out_at_.erase(start);
}

void World::cell_restarted(const CellKey& cell) {
  note("restarted " + to_string(cell));
}

void World::committed(const JobPtr& before, const Job& after) {
  note("committed " + name(after) + " " + std::string(to_string(after.state)));
  if (!before) return;
  if (is_ended(before->state) && (before->state != after.state || before->error != after.error)) {
    reopened_or_violated(*before, after);
  }
  if (is_ended(after.state) && to_be_cancelled_.erase(after.id) > 0 &&
      after.state != JobState::cancelled) {
    violated("P2", name(after) + " was cancelled and is " + std::string(to_string(after.state)));
  }
  if (after.settle_until && after.settle_until != before->settle_until) {
    kept_until_[entity_of(after)] = *after.settle_until;
  }
  if (after.lease < before->lease) violated("P3", name(after) + " was written by a stale lease");
  for (std::size_t i = 0; i < after.steps.size(); ++i) {
    if (before->steps[i].state == StepState::succeeded &&
        after.steps[i].state != StepState::succeeded) {
      violated("P2", name(after) + " lost a checkpoint");
    }
  }
  if (!is_ended(before->state) && is_ended(after.state)) ended_jobs += 1;
}

/// Nobody can tell a job that was pruned too early from one that was lost.
void World::pruned(const Job& job) {
  note("pruned " + name(job));
  if (!pruned_jobs.insert(job.id).second) violated("retention", name(job) + " is pruned twice");
  std::erase_if(named_, [&](const auto& named) { return named.second.first == job.id; });
  if (!is_ended(job.state)) {
    violated("retention", name(job) + " is pruned before its end");
  } else if (job.place != 0) {
    violated("retention", name(job) + " is pruned while it keeps its entity");
  } else if (*job.finished_at + keep >= latest_wall) {
    violated("retention", name(job) + " is pruned too early");
  }
}

/// Only a failed or cancelled job goes on after its end, and only when somebody asked for that.
void World::reopened_or_violated(const Job& before, const Job& after) {
  auto& asked = retries_asked_[after.id];
  if (asked == 0 || before.state == JobState::succeeded) {
    violated("P2", name(after) + " ended twice");
  } else {
    asked -= 1;
    reopened_.insert(after.id);
  }
}

}  // namespace simulation
