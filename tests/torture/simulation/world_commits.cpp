// The reports that the world receives from the disk: what a commit may change, and what must be on
// disk before something else happens.
#include <algorithm>

#include "tests/torture/simulation/world.hpp"

namespace simulation {
namespace {

/// Whether the job waits until it may ask for the operation of its current step again. Its
/// `settle_until` is not yet in force.
bool awaits_operation(const Job& job) {
  return job.next_attempt_at && job.step < job.steps.size() &&
         !job.steps[job.step].operation.empty();
}

}  // namespace

void World::job_ended(const Job& job) {
  if (++ends_announced_[job.id] > ends_[job.id]) {
    violated(Check::end_announced, name(job) + " was announced as ended, but that is not on disk");
  }
}

void World::committed(const JobPtr& before, const Job& after) {
  note("committed " + name(after) + " " + std::string(to_string(after.state)) + " in " +
       to_string(after.cell));
  note_count(before.get(), after);
  lines_.changed(before.get(), after);
  due_order_.changed(before.get(), after, now_steady < after_jump_);
  const bool waits = after.state == JobState::retrying || after.state == JobState::compensating;
  if (waits && after.next_attempt_at) {
    not_before_[after.id] = *after.next_attempt_at;
  } else {
    not_before_.erase(after.id);
  }
  if (!before) {
    if (after.batch != 0) line_stored(after);
    firing_stored(after);
    return check_routing(after);
  }
  note_attempt_written(after);
  note_reopening_written(*before, after);
  note_steps_done(after);
  check_compensation(*before, after);
  note_followers(*before, after);
  if (is_ended(before->state) && (before->state != after.state || before->error != after.error)) {
    reopened_or_violated(*before, after);
  }
  if (is_ended(after.state) && to_be_cancelled_.erase(after.id) > 0 &&
      after.state != JobState::cancelled) {
    violated(Check::cancel_kept,
             name(after) + " was cancelled but is " + std::string(to_string(after.state)));
  }
  const bool falls = after.error && after.error->code == "predecessor_failed";
  const bool is_new = after.cancel_requested && !before->cancel_requested;
  const bool is_unasked = !falls && after.state == JobState::cancelled && !after.cancel_requested;
  if (is_unasked || (is_new && !is_cancel_asked(after.id))) {
    violated(Check::cancel_unasked, name(after) + " is cancelled without a request");
  }
  const bool gives_up = awaits_operation(*before) || after.settle_until != before->settle_until;
  if (after.settle_until && !awaits_operation(after) && gives_up) {
    kept_until_[entity_of(after)] = *after.settle_until;
  }
  const bool turns_back = is_compensating(after) && !is_compensating(*before);
  // A job that was reopened has no attempt yet; its entity settles since the end of the last one.
  const bool asked = awaits_operation(*before) && before->steps[before->step].attempts > 0;
  if (asked && (is_ended(after.state) || turns_back)) {
    // The entity settles from the decision on, not from its commit.
    const auto decided = after.steps[before->step].finished_at.value_or(now_wall);
    const auto& service = before->spec->services[before->step];
    doubts_[entity_of(after)] = {service, now_steady + settle, std::min(decided, now_wall)};
  }
  const auto begun = begun_.find(after.id);
  if (begun != begun_.end() && after.state != JobState::running &&
      after.lease >= begun->second.lease) {
    begun_.erase(begun);
  }
  if (after.lease < before->lease)
    violated(Check::stale_write, name(after) + " was written by a stale lease");
  check_checkpoints(*before, after);
  if (is_ended(after.state) && !is_ended(before->state)) {
    ends_[after.id] += 1;
    unannounced_.insert(after.id);
  }
}

void World::note_count(const Job* before, const Job& after) {
  cell_counts_.changed(before, after, now_steady);
  customer_counts_.changed(before, after, now_steady);
  for (const Job* job : {before, &after}) {
    if (job) cell_ends_[job->cell].count(cell_counts_.unfinished(job->cell), now_steady);
  }
  if (is_ended(after.state) && !(before && is_ended(before->state))) {
    ended_at_[after.id] = now_steady;
    cell_ends_[after.cell].ended(now_steady);
  }
  if (before && before->cell != after.cell) moved_at_[after.id] = now_steady;
  if (before && before->finished_at) removable_.erase({*before->finished_at, after.id});
  if (after.finished_at && after.place == 0) removable_.emplace(*after.finished_at, after.id);
  if (!before) check_queue_bound(after);
  if (!is_ended(after.state) && (!before || is_ended(before->state))) check_quota_bound(after);
}

/// Jobs that have just moved here need no room.
void World::check_queue_bound(const Job& job) {
  const std::size_t jobs = cell_counts_.unfinished(job.cell);
  const std::size_t moved = cell_counts_.moved_here(job.cell, now_steady - written_within);
  std::uint64_t limit = 0;
  for (const Routing* routing : possible_routings()) {
    const CellRule* rule = rule_for(*routing, job.spec->customer, job.spec->product);
    if (rule) limit = std::max(limit, settings_of(*rule, job.cell).jobs_max);
  }
  if (limit > 0 && jobs > limit + moved) {
    violated(Check::queue_bound, name(job) + " is job " + std::to_string(jobs) + " of " +
                                     std::to_string(limit) + " in " + to_string(job.cell));
  }
}

void World::check_checkpoints(const Job& before, const Job& after) {
  const bool undoes = is_compensating(before) || is_compensating(after);
  if (after.step < before.step && !undoes) {
    violated(Check::checkpoint, name(after) + " went back a step");
  }
  for (std::size_t i = 0; i < after.steps.size(); ++i) {
    const StepState was = before.steps[i].state;
    if (was == after.steps[i].state) continue;
    if (was == StepState::undone || (was == StepState::succeeded && !undoes)) {
      violated(Check::checkpoint, name(after) + " lost a checkpoint");
    }
  }
}

// --- Compensation and followers ------------------------------------------------------------------

void World::note_steps_done(const Job& after) {
  if (after.spec->on_failure != OnFailure::compensate) return;
  StepsDone& done = steps_done_[after.id];
  const bool has_failed = is_compensating(after) || is_ended(after.state);
  if (!has_failed) done.undo_over.clear();  // The job was reopened.
  for (std::size_t i = 0; i < after.steps.size(); ++i) {
    const StepState state = after.steps[i].state;
    if (state == StepState::succeeded) done.succeeded.insert(i);
    const bool is_over = state == StepState::undone || state == StepState::undo_failed;
    if (has_failed && is_over) done.undo_over.insert(i);
  }
}

/// A compensation ends as failed, with the error that began it, when all that was done is undone or
/// cannot be.
void World::check_compensation(const Job& before, const Job& after) {
  const bool ends = is_ended(after.state) && !is_ended(before.state);
  const bool undid = is_compensating(before);
  if (undid && (ends ? after.state != JobState::failed : !is_compensating(after))) {
    violated(Check::undo_end,
             name(after) + " ends its compensation as " + std::string(to_string(after.state)));
  }
  if (undid && before.error != after.error) {
    violated(Check::undo_end, name(after) + " loses its first error");
  }
  if (!ends || after.state != JobState::failed) return;
  const auto done = steps_done_.find(after.id);
  if (done == steps_done_.end()) return;
  std::set<std::size_t> to_undo = done->second.succeeded;
  to_undo.insert(done->second.must_undo.begin(), done->second.must_undo.end());
  for (const std::size_t step : to_undo) {
    const StepState state = after.steps[step].state;
    if (state == StepState::undone || state == StepState::undo_failed) continue;
    violated(Check::undo_missing,
             name(after) + " has failed without an undo of step " + std::to_string(step));
  }
}

/// The jobs in the line of a job that fails may fall with it; those behind it must, where their
/// cell says so.
void World::note_followers(const Job& before, const Job& after) {
  if (is_ended(before.state) && !is_ended(after.state)) {
    may_fall_.erase(after.id);
    must_fall_.erase(after.id);
  }
  if (is_ended(before.state) || !is_ended(after.state)) return;
  must_fall_.erase(after.id);
  const bool falls = after.error && after.error->code == "predecessor_failed";
  if (falls && !may_fall_.contains(after.id)) {
    violated(Check::follower_cause, name(after) + " falls although no job before it has failed");
  }
  if (after.state != JobState::failed || before.place == 0) return;
  const auto others = lines_.others(before);
  may_fall_.insert(others.all.begin(), others.all.end());
  must_fall_.insert(others.behind.begin(), others.behind.end());
}

void World::check_follower(const Job& job) {
  if (!must_fall_.contains(job.id)) return;
  const auto routings = possible_routings();
  const bool falls = std::all_of(routings.begin(), routings.end(), [&](const Routing* routing) {
    const CellRule* rule = rule_for(*routing, job.spec->customer, job.spec->product);
    return rule && rule->settings.on_predecessor_failed == OnPredecessorFailed::cancel;
  });
  if (falls && !is_compensating(job)) {
    violated(Check::follower_start, name(job) + " starts although a job before it has failed");
  }
}

/// A job pruned too early would look like a lost one.
void World::pruned(const Job& job) {
  note("pruned " + name(job));
  if (job.finished_at) removable_.erase({*job.finished_at, job.id});
  if (!pruned_jobs.insert(job.id).second)
    violated(Check::early_removal, name(job) + " is pruned twice");
  std::erase_if(named_, [&](const auto& named) { return named.second.first == job.id; });
  if (!is_ended(job.state)) {
    violated(Check::early_removal, name(job) + " is pruned before its end");
  } else if (job.place != 0) {
    violated(Check::early_removal, name(job) + " is pruned while it keeps its entity");
  } else if (*job.finished_at + shortest_keep() >= latest_wall) {
    violated(Check::early_removal, name(job) + " is pruned too early");
  }
}

/// Only a failed or cancelled job may continue after its end, and only if a client has requested
/// it.
void World::reopened_or_violated(const Job& before, const Job& after) {
  if (!may_be_reopened(after.id) || before.state == JobState::succeeded) {
    violated(Check::ended_twice, name(after) + " ended twice");
    return;
  }
  reopened_[after.id] += 1;
  reopened_at_[after.id] = now_steady;
  if (is_ended(after.state)) ends_[after.id] += 1;  // It had no step left.
}

}  // namespace simulation
