// The reports of the client: every answer must be true, and every refusal must have a reason that
// was true at some moment between the request and its answer.
#include <algorithm>

#include "tests/torture/simulation/world.hpp"

namespace simulation {
namespace {

std::string name(Refusal::Kind kind) {
  constexpr std::array names = {"no cell",
                                "timeout too long",
                                "queue full",
                                "too many cells",
                                "shutting down",
                                "draining",
                                "service removed",
                                "key reused",
                                "cell bytes full",
                                "memory full",
                                "durability differs",
                                "queue rate",
                                "customer jobs full",
                                "customer bytes full",
                                "customer rate",
                                "job too large"};
  return names.at(static_cast<std::size_t>(kind));
}

}  // namespace

// --- Pending requests ----------------------------------------------------------------------------

std::uint64_t World::add_request(PendingRequest request) {
  request.asked = now_steady;
  request.asked_wall = now_wall;
  note_reasons(request);
  pending_.emplace(++requests_, std::move(request));
  return requests_;
}

PendingRequest World::finish_request(std::uint64_t number) {
  PendingRequest request = std::move(pending_.extract(number).mapped());
  note_reasons(request);
  return request;
}

/// A request about a job fails if the dispatcher of its cell dies; a change to a cell or a reload
/// outlives everything but the daemon.
void World::request_failed(std::uint64_t number) {
  const PendingRequest request = finish_request(number);
  if (request.spec) note_turned_away();
  if (request.batch != 0) add_reasons(batch_requests_[request.batch], request);
  if (request.job && !request.spec) {
    auto& asked = cancels_asked_[request.job->id];
    asked.unanswered -= 1;
    asked.answered_at = now_steady;
    // A failed store never writes the request, and the daemon knows of it until the end.
    asked.until = dying_ ? SteadyTime::max() : now_steady + written_within;
  } else if (request.job) {
    for (auto& asked : reopenings_asked_[request.job->id]) {
      if (asked.number == number) asked.until = now_steady + written_within;
    }
  }
  if (dying_ || is_shutting_down()) return;
  if (lost_dispatcher_of(request, request.asked - in_transit)) return;
  violated(Check::failed_request, "a request fails although nothing has died");
}

// --- Submissions ---------------------------------------------------------------------------------

std::uint64_t World::submission_asked(const JobRequest& request) {
  PendingRequest pending;
  pending.spec = std::make_shared<const JobSpec>(request.spec);
  pending.idempotency = request.idempotency;
  pending.batch = request.batch;
  pending.is_repeated = request.idempotency && digest_under(pending) == request.idempotency->digest;
  job_bytes_most_ = std::max(job_bytes_most_, queued_bytes(request.spec));
  const auto number = add_request(std::move(pending));
  note_submission(pending_.at(number));
  return number;
}

void World::submission_answered(std::uint64_t number, const JobSubmitted& answer) {
  const PendingRequest request = finish_request(number);
  submission_decided(request, request, answer);
}

/// `reasons`: why it may have been refused.
void World::submission_decided(const PendingRequest& request, const PendingRequest& reasons,
                               const JobSubmitted& answer) {
  submissions_answered_ += 1;
  if (!answer.job || answer.replayed) note_turned_away();
  if (answer.job) {
    accepted(request, *answer.job, answer.replayed);
    if (request.idempotency) accepted_under(*request.idempotency, *answer.job);
    return;
  }
  if (!answer.refusal) {
    violated(Check::refusal, "a submission is refused without a word");
    return;
  }
  judge_refusal(reasons, *answer.refusal);
  submissions_refused_ += 1;
  if (request.is_repeated && digest_under(request) == request.idempotency->digest) {
    violated(Check::one_job_per_key,
             "a repeated submission is refused: " + name(answer.refusal->kind));
  }
}

bool World::awaits_submission() const {
  return std::any_of(pending_.begin(), pending_.end(),
                     [](const auto& item) { return item.second.spec != nullptr; });
}

/// Also detects an acknowledgement after a failed commit, since what that commit wrote need not be
/// on disk.
void World::accepted(const PendingRequest& request, const Job& job, bool replayed) {
  note("accepted " + name(job));
  accepted_jobs.insert(job.id);
  if (!disk->jobs().contains(job.id) && !pruned_jobs.contains(job.id)) {
    violated(Check::accepted_stored, name(job) + " is not on disk");
  }
  if (replayed) return;
  note_accepted(request, job);
  if ((request.certain & reason(Refusal::Kind::shutting_down)) != 0) {
    violated(Check::late_admission, name(job) + " is accepted after the shutdown began");
  } else if (request.certain != 0) {
    violated(Check::admission, name(job) + " is accepted although its cell must refuse it");
  }
}

void World::accepted_under(const Idempotency& idempotency, const Job& job) {
  if (pruned_jobs.contains(job.id)) return;  // Another job may hold the key by now.
  const std::pair made{job.id, idempotency.digest};
  const auto [known, first] = named_.try_emplace({job.spec->customer, idempotency.key}, made);
  if (!first && known->second != made) {
    violated(Check::one_job_per_key, name(job) + " is a second job under one key");
  }
}

void World::judge_refusal(const PendingRequest& request, const Refusal& refusal) {
  note("refused: " + name(refusal.kind));
  constexpr Reasons of_cells =
      reason(Refusal::Kind::draining) | reason(Refusal::Kind::queue_full) |
      reason(Refusal::Kind::too_many_cells) | reason(Refusal::Kind::cell_bytes_full) |
      reason(Refusal::Kind::customer_jobs_full) | reason(Refusal::Kind::customer_bytes_full) |
      reason(Refusal::Kind::queue_rate) | reason(Refusal::Kind::customer_rate);
  const bool named = (of_cells & reason(refusal.kind)) != 0;
  if ((request.possible & reason(refusal.kind)) == 0 ||
      (named && !request.cells.contains(refusal.cell))) {
    violated(Check::refusal, "a job is refused without reason: " + name(refusal.kind));
  } else if (refusal.kind == Refusal::Kind::queue_full &&
             ((!request.limits_change && !request.jobs_limits.contains(refusal.limit)) ||
              refusal.depth < refusal.limit ||
              refusal.depth > jobs_at_most(refusal.cell, request.asked))) {
    violated(Check::refusal, to_string(refusal.cell) + " is not full with " +
                                 std::to_string(refusal.depth) + " jobs of " +
                                 std::to_string(refusal.limit));
  }
  if (refusal.kind == Refusal::Kind::too_many_cells && refusal.limit != instances_max) {
    violated(Check::refusal, "a template may have " + std::to_string(instances_max) +
                                 " cells, not " + std::to_string(refusal.limit));
  }
  check_retry_after(request, refusal);
}

/// The time until there is room, for this client and for at most as many others as the queue has
/// places, at the rate at which jobs end.
void World::check_retry_after(const PendingRequest& request, const Refusal& refusal) {
  const auto wait = std::chrono::duration_cast<std::chrono::seconds>(refusal.retry_after);
  const bool is_final = refusal.kind == Refusal::Kind::key_reused ||
                        refusal.kind == Refusal::Kind::timeout_too_long ||
                        refusal.kind == Refusal::Kind::job_too_large;
  const bool is_rate =
      refusal.kind == Refusal::Kind::queue_rate || refusal.kind == Refusal::Kind::customer_rate;
  const milliseconds least{is_rate ? 1 : 1000};
  bool honest = is_final ? wait.count() == 0 : refusal.retry_after >= least && wait.count() <= 3600;
  if (refusal.kind == Refusal::Kind::queue_full) {
    const auto ahead = refusal.depth - std::min(refusal.depth, refusal.limit) + 1 + refusal.limit;
    const auto rate = cell_ends_[refusal.cell].least_rate(request.asked, now_steady);
    const std::chrono::duration<double> longest{static_cast<double>(ahead) / rate.value_or(1) + 1};
    honest = honest && (!rate || wait <= longest);
  }
  if (!honest) {
    violated(Check::retry_after, name(refusal.kind) + ": come back in " +
                                     std::to_string(wait.count()) + " s is not honest");
  }
}

/// A backstop, should the world accept too many reasons: in a run whose queues are long and in
/// which nothing fails.
void World::check_share_accepted() {
  if (call_times.empty() || submissions_refused_ <= submissions_answered_ / 20) return;
  violated(Check::share_accepted, std::to_string(submissions_refused_) + " of " +
                                      std::to_string(submissions_answered_) +
                                      " submissions are refused although there is room");
}

// --- Cancellations and reopenings ----------------------------------------------------------------

std::uint64_t World::cancel_asked(const JobPtr& job) {
  cancels_asked_[job->id].unanswered += 1;
  PendingRequest request;
  request.job = job;
  return add_request(std::move(request));
}

void World::cancel_answered(std::uint64_t number, const CancelAnswered& answer) {
  const PendingRequest request = finish_request(number);
  auto& asked = cancels_asked_[request.job->id];
  asked.unanswered -= 1;
  asked.answered_at = now_steady;
  if (answer.accepted) {
    cancel_accepted(request, *answer.job);
  } else if ((request.possible & job_unsuited) == 0) {
    violated(Check::refusal, name(*request.job) + " is not cancelled although it could be");
  }
}

/// Whether a request may have its effect now. Once it has, the job on disk says so.
bool World::is_cancel_asked(JobId id) const {
  const auto asked = cancels_asked_.find(id);
  return asked != cancels_asked_.end() &&
         (asked->second.unanswered > 0 || now_steady <= asked->second.until);
}

/// Whether a cancellation of the job was under way at some moment since then.
bool World::was_being_cancelled(JobId id, SteadyTime since) const {
  const auto asked = cancels_asked_.find(id);
  return asked != cancels_asked_.end() &&
         (asked->second.unanswered > 0 || asked->second.answered_at >= since);
}

void World::cancel_accepted(const PendingRequest& request, const Job& job) {
  note("cancelling " + name(job));
  if (pruned_jobs.contains(job.id)) return;
  const auto found = disk->jobs().find(job.id);
  const Job* stored = found == disk->jobs().end() ? nullptr : found->second.job.get();
  const bool ended = stored && is_ended(stored->state);
  if (stored && (ended ? stored->state == JobState::cancelled : stored->cancel_requested)) {
    if (!ended) to_be_cancelled_.insert(job.id);
  } else if (!happened_since(reopened_at_, job.id, request.asked)) {
    violated(Check::cancel_stored, name(job) + " lost its cancellation");
  }
}

std::uint64_t World::reopen_asked(const JobPtr& job) {
  PendingRequest request;
  request.job = job;
  request.spec = job->spec;
  const auto number = add_request(std::move(request));
  reopenings_asked_[job->id].push_back({number});
  return number;
}

void World::reopen_answered(std::uint64_t number, const ReopenAnswered& answer) {
  const PendingRequest request = finish_request(number);
  const JobId id = request.job->id;
  reopening_over(id, number, answer.accepted);
  if (answer.accepted) return reopen_accepted(*answer.job);
  note_turned_away();
  if (answer.refusal) {
    judge_refusal(request, *answer.refusal);
  } else if ((request.possible & job_unsuited) == 0) {
    violated(Check::refusal, name(*request.job) + " is not reopened although it could be");
  }
}

/// Of several requests at once, the world knows only now which one was the one that it saw done.
void World::reopening_over(JobId id, std::uint64_t number, bool is_done) {
  auto& all = reopenings_asked_[id];
  const auto own = std::find_if(all.begin(), all.end(),
                                [&](const auto& asked) { return asked.number == number; });
  if (own->is_done != is_done) {
    const auto other = std::find_if(all.begin(), all.end(),
                                    [&](const auto& asked) { return asked.is_done == is_done; });
    if (other != all.end()) other->is_done = !is_done;
  }
  all.erase(own);
}

/// Called when the disk shows that the job is reopened.
bool World::may_be_reopened(JobId id) {
  auto& all = reopenings_asked_[id];
  std::erase_if(all,
                [this](const auto& asked) { return asked.until && *asked.until < now_steady; });
  const auto asked =
      std::find_if(all.begin(), all.end(), [](const auto& each) { return !each.is_done; });
  if (asked == all.end()) return false;
  asked->is_done = true;
  return true;
}

void World::reopen_accepted(const Job& job) {
  note("reopening " + name(job));
  if (++reopenings_accepted_[job.id] > reopened_[job.id]) {
    violated(Check::reopen_stored,
             name(job) + " has an acknowledged reopening that is not on disk");
  }
}

// --- Changes to cells ----------------------------------------------------------------------------

std::uint64_t World::change_asked(const CellKey& cell, PendingRequest request) {
  changes_pending_[cell] += 1;
  note_reasons();
  return changes_asked_[cell] = add_request(std::move(request));
}

std::uint64_t World::resize_asked(const CellKey& cell, const std::optional<std::uint32_t>& size) {
  PendingRequest request;
  if (size) request.enlarged.emplace(cell, *size);
  const auto number = change_asked(cell, std::move(request));
  resizes_[number] = {cell, override_of(cell).pool_size, size};
  note_reasons();
  return number;
}

PendingRequest World::change_over(const CellKey& cell, std::uint64_t number) {
  changes_pending_[cell] -= 1;
  const auto resize = resizes_.find(number);
  if (resize != resizes_.end()) resize->second.over_at = now_steady;
  return finish_request(number);
}

void World::change_denied(const CellKey& cell, std::uint64_t number) {
  note("denied: " + to_string(cell));
  if ((change_over(cell, number).possible & no_room) == 0) {
    violated(Check::refusal, to_string(cell) + " is not resized although it has room");
  }
}

/// Refused only if there may be no such cell.
void World::change_refused(const CellKey& cell, std::uint64_t number) {
  note("not changed: " + to_string(cell));
  change_over(cell, number);
  const auto routings = possible_routings();
  if (std::all_of(routings.begin(), routings.end(),
                  [&](const Routing* routing) { return routing->rules().contains(cell); })) {
    violated(Check::refusal, to_string(cell) + " is not changed although it is configured");
  }
}

/// Whether this change is the latest one of the cell.
bool World::change_stands(const CellKey& cell, std::uint64_t number) {
  note("changed " + to_string(cell));
  changed_at_[cell] = now_steady;
  change_over(cell, number);
  return changes_pending_[cell] == 0 && changes_asked_[cell] == number;
}

void World::resize_answered(const CellKey& cell, std::uint64_t number,
                            const std::optional<std::uint32_t>& size) {
  if (change_stands(cell, number) && override_of(cell).pool_size != size) {
    violated(Check::override_stored, to_string(cell) + " has a size that is not on disk");
  }
}

void World::state_answered(const CellKey& cell, std::uint64_t number, CellState state) {
  if (change_stands(cell, number) && override_of(cell).state != state) {
    violated(Check::override_stored, to_string(cell) + " has a state that is not on disk");
  }
}

// --- Reloads -------------------------------------------------------------------------------------

std::uint64_t World::reload_asked(const Reconfigure& order) {
  note("reload");
  reload_ = order;
  leasable_.clear();
  note_reasons();
  return add_request({});
}

void World::reload_answered(std::uint64_t number, const Reconfigured& answer) {
  const bool refused = !answer.needed.empty() || !answer.undos_needed.empty();
  note(refused ? "not reloaded" : "reloaded");
  const PendingRequest request = finish_request(number);
  if (!refused) {
    reload_in_force(*reload_, request.asked);
  } else {
    judge_needs(request, answer);
  }
  reload_.reset();
}

/// A job that is reopened meanwhile may need a service that is being removed: it is then held.
void World::reload_in_force(const Reconfigure& order, SteadyTime asked) {
  former_routing_ = routing_;
  former_running_max_ = running_max_;
  rerouted_at_ = now_steady;
  if (order.running_max && (!running_max_ || *order.running_max < *running_max_)) {
    capacity_lowered_at_ = now_steady;
  }
  running_max_ = order.running_max;
  set_routing(order.routing);
  watch_changed_rates(*former_routing_);
  for (const auto& actor : actors["cell"]) note_instance_size(actor.cell, asked);
  std::set<std::string> undos_removed;
  for (const auto& [name, service] : order.services) {
    if (!services_.insert(name).second && service.undoes.is_empty() &&
        !without_undo_.contains(name)) {
      undos_removed.insert(name);
    }
    service.undoes.is_empty() ? void(without_undo_.insert(name)) : void(without_undo_.erase(name));
    service.start_provider ? void(pulled_.erase(name)) : void(pulled_.insert(name));
    protect(name, service.protection);
  }
  for (const auto& name : order.services_removed) {
    services_.erase(name);
    without_undo_.erase(name);
    pulled_.erase(name);
    protect(name, {});
  }
  for (const auto& [id, stored] : disk->jobs()) {
    const Job& job = *stored.job;
    if (is_ended(job.state) || happened_since(reopened_at_, id, asked)) continue;
    for (std::size_t step = 0; step < job.spec->services.size(); ++step) {
      const std::string& service = job.spec->services[step];
      if (may_call(job, step) && order.services_removed.contains(service)) {
        violated(Check::needed_service, name(job) + " needs a service that was removed");
      }
      if (may_undo(job, step) && undos_removed.contains(service)) {
        violated(Check::needed_undo, name(job) + " needs an undo that was removed");
      }
    }
  }
}

/// At most this many jobs kept the service, or its undo, from being removed: all that name the
/// service and may have been unfinished since the request.
std::uint64_t World::needs_at_most(const std::string& service, bool undo, SteadyTime asked) const {
  std::uint64_t jobs = 0;
  for (const auto& [id, stored] : disk->jobs()) {
    const JobSpec& spec = *stored.job->spec;
    if (undo && spec.on_failure != OnFailure::compensate) continue;
    const bool unfinished = !is_ended(stored.job->state) || happened_since(ended_at_, id, asked);
    jobs += unfinished &&
            std::find(spec.services.begin(), spec.services.end(), service) != spec.services.end();
  }
  return jobs;
}

void World::judge_needs(const PendingRequest& request, const Reconfigured& answer) {
  const auto judge = [&](const auto& needs, bool undo, auto removed) {
    for (const auto& [service, count] : needs) {
      const bool possible = count <= needs_at_most(service, undo, request.asked);
      if (count > 0 && possible && removed(service)) continue;
      violated(Check::reload_refusal, "a reload is refused because " + std::to_string(count) +
                                          " jobs need " + (undo ? "the undo of " : "") + service);
    }
  };
  judge(answer.needed, false,
        [this](const auto& name) { return reload_->services_removed.contains(name); });
  judge(answer.undos_needed, true, [this](const auto& name) {
    return is_without_undo(*reload_, name) && !without_undo_.contains(name);
  });
}

// --- Audits --------------------------------------------------------------------------------------

std::uint64_t World::audit_asked() {
  return add_request({});
}

void World::audit_answered(std::uint64_t number, const std::vector<CellStatus>& cells) {
  const SteadyTime asked = finish_request(number).asked;
  if (dying_) return;  // Counts include changes that a failed store has not taken.
  for (const auto& cell : cells) {
    if (cell.is_template) continue;
    const std::uint64_t counted = cell.queue.counts.unfinished();
    if (counted <= jobs_at_most(cell.key, asked) && counted >= jobs_at_least(cell.key, asked)) {
      continue;
    }
    violated(Check::counts, to_string(cell.key) + " counts " + std::to_string(counted) +
                                " unfinished jobs, but has " +
                                std::to_string(cell_counts_.unfinished(cell.key)));
  }
}

}  // namespace simulation
