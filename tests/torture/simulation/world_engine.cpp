// The reports that the world receives from the actors of the engine.
#include <algorithm>

#include "tests/torture/simulation/world.hpp"

namespace simulation {
namespace {

/// The time for a shutdown to reach every dispatcher: some messages and a commit or two.
constexpr milliseconds stop_allowance{200};
/// Between the decision to start a cell and its first action.
constexpr milliseconds started_within{200};
/// Between the choice of a job for a worker outside and the answer: a commit.
constexpr milliseconds granted_within{1000};

/// The attempts at what `before` attempted.
std::uint32_t attempts_in(const Job& job, const Job& before) {
  const Step& step = job.steps[before.step];
  return is_compensating(before) ? step.undo_attempts : step.attempts;
}

/// Whether what `before` attempted has failed for good.
bool gave_up(const Job& before, const Job& after) {
  if (is_compensating(before)) return after.steps[before.step].state == StepState::undo_failed;
  return after.state == JobState::failed || is_compensating(after);
}

}  // namespace

void World::spawned(std::string_view role, const CellKey& cell, const caf::actor& actor) {
  actors[std::string(role)].push_back({cell, actor.address()});
  if (role == "dispatcher") {
    cell_ends_[cell].dispatcher_started(now_steady);
    watch_rates_afresh(cell);
    expect_fresh_deadlines(cell);
  }
  if (role == "cell") {
    note_instance_size(cell, now_steady - started_within);
    note_reasons();
  }
}

void World::cell_restarted(const CellKey& cell) {
  note("restarted " + to_string(cell));
}

void World::window_holds(const CellKey& cell, std::size_t jobs) {
  if (jobs <= window_max) return;
  violated(Check::window_bound, to_string(cell) + " holds " + std::to_string(jobs) +
                                    " jobs in memory; the bound is " + std::to_string(window_max));
}

// --- A job is handed out -------------------------------------------------------------------------

void World::handed_out(const Job& job, std::size_t running, std::size_t max) {
  note("handed out " + name(job) + " for " + job.spec->services[job.step] + " in " +
       to_string(job.cell) + " lease " + to_string(job.lease));
  check_lease(job);
  check_line_and_times(job);
  // The engine cannot tell whether a call that was cut short at its beginning had begun.
  if (job.spec->on_failure == OnFailure::compensate && !is_compensating(job)) {
    steps_done_[job.id].perhaps_done[job.step] += 1;
  }
  if (!is_changing(job.cell) && !reload_) check_running_quota(job);
  live_[job.cell].insert(job.lease);
  idle_since_.erase(job.cell);
  std::erase_if(leasable_, [&](const auto& item) { return std::get<0>(item.first) == job.cell; });
  const auto& worker = job.steps[job.step].worker;
  const SteadyTime deadline = now_steady + job.spec->timeout;
  const SteadyTime latest = worker.empty() ? deadline : deadline + granted_within;
  handed_out_[job.lease] = {job.id, job.spec->customer, now_steady,        deadline,
                            latest, entity_of(job),     job.spec->timeout, worker};
  handed_out_[job.lease].expires_at = expiry_of(job);
  handed_out_[job.lease].service = job.spec->services[job.step];
  check_limit(job);
  check_rate(job);
  check_circuit(job);
  check_follower(job);
  check_bounds(job, running, max);
  check_routing(job);
  if (!call_times.empty())
    turns_.started(job.cell, job.spec->customer, waiting_customers(job.cell));
  if (shutdown_asked_at_ && now_steady > *shutdown_asked_at_ + stop_allowance) {
    violated(Check::late_start, name(job) + " starts after the shutdown began");
  }
}

void World::check_lease(const Job& job) {
  if (job.lease <= last_lease_)
    violated(Check::fresh_lease, name(job) + " has a lease that is not new");
  last_lease_ = std::max(last_lease_, job.lease);
  for (const auto& [lease, given] : handed_out_) {
    if (given.job == job.id) {
      violated(Check::fresh_lease, name(job) + " has two live leases");
    } else if (given.entity == entity_of(job)) {
      violated(Check::entity_leases,
               name(job) + " and " + format_job_id(given.job) + " have leases for one entity");
    }
  }
}

/// The wall clock may have jumped back since the engine read it, so what counts is the latest time
/// that it ever showed.
void World::check_line_and_times(const Job& job) {
  if (const JobId head = lines_.head(entity_of(job)); head != job.id) {
    violated(Check::line_head,
             name(job) + " starts before " + format_job_id(head) + ", the head of its line");
  }
  const auto kept = kept_until_.find(entity_of(job));
  if (kept != kept_until_.end() && latest_wall < kept->second) {
    violated(Check::entity_kept, name(job) + " starts for an entity that is still kept");
  }
  if (job.run_at > latest_wall) violated(Check::early_start, name(job) + " starts too early");
  const auto next = not_before_.find(job.id);
  if (next != not_before_.end() && latest_wall < next->second) {
    violated(Check::early_retry, name(job) + " is retried too early");
  }
}

/// Under the configuration in force, or under one that a reload has just replaced or may have put
/// in force.
void World::check_routing(const Job& job) {
  const auto routings = possible_routings();
  if (std::none_of(routings.begin(), routings.end(), [&](const Routing* routing) {
        return cell_for(*routing, job.spec->customer, job.spec->product) == job.cell;
      })) {
    violated(Check::routing, name(job) + " of " + job.spec->customer + "/" + job.spec->product +
                                 " does not belong in " + to_string(job.cell));
  }
}

std::set<std::string> World::waiting_customers(const CellKey& cell) const {
  std::set<std::string> customers;
  for (const auto& [id, stored] : disk->jobs()) {
    const Job& job = *stored.job;
    if (job.cell == cell && is_runnable(job)) customers.insert(job.spec->customer);
  }
  return customers;
}

void World::check_turns(const Job& before) {
  const auto given = handed_out_.find(before.lease);
  if (call_times.empty() || given == handed_out_.end()) return;
  const auto unfair = turns_.ended(before.cell, given->second.customer,
                                   now_steady - given->second.at, weight_of(before));
  if (!unfair) return;
  violated(Check::turns, unfair->served + " got " +
                             std::to_string(unfair->difference.count() / 1000) + " ms more than " +
                             unfair->waiting + ", which waits; at most " +
                             std::to_string(unfair->bound.count() / 1000) + " ms are fair");
}

void World::protect(const std::string& service, const Protection& protection) {
  if (protection.is_any()) {
    protection_[service] = {protection, now_steady};
  } else {
    protection_.erase(service);
  }
  rates_[service].change(protection.limits, pulled_.contains(service), now_steady);
  protection.circuit ? void(circuit_until_[service] = SteadyTime::max()) : end_circuit(service);
}

void World::end_circuit(const std::string& service) {
  const auto found = circuit_until_.find(service);
  if (found != circuit_until_.end()) found->second = std::min(found->second, now_steady);
}

/// Attempts that began before the limit was in force do not count.
void World::check_limit(const Job& job) {
  const std::string& service = job.spec->services[job.step];
  const auto found = protection_.find(service);
  if (dying_ || reload_ || found == protection_.end() ||
      !found->second.protection.limits.concurrency)
    return;
  const auto running = std::count_if(handed_out_.begin(), handed_out_.end(), [&](const auto& item) {
    return item.second.service == service && item.second.at > found->second.since;
  });
  const std::uint32_t most = *found->second.protection.limits.concurrency;
  if (static_cast<std::uint32_t>(running) <= most) return;
  violated(Check::service_limit, name(job) + " is one of " + std::to_string(running) +
                                     " attempts at " + service + ", which may have " +
                                     std::to_string(most));
}

/// A reload that has not been answered may have changed the rate.
void World::check_rate(const Job& job) {
  const std::string& service = job.spec->services[job.step];
  ServiceRate& rate = rates_[service];
  rate.began(now_steady);
  if (dying_ || reload_ || !rate.is_exceeded(now_steady)) return;
  violated(Check::service_rate,
           name(job) + " starts sooner than the rate of " + service + " allows");
}

/// A lease that ends before a worker outside is granted it, because its job is cancelled while the
/// lease is being written, begins nothing at the service.
void World::note_ungranted(const Job& before) {
  const auto given = handed_out_.find(before.lease);
  if (given == handed_out_.end() || given->second.worker.empty() || given->second.is_granted)
    return;
  rates_[given->second.service].did_not_begin(given->second.at);
}

/// The engine counts an attempt at a service when its desk hears of it: for a worker outside, that
/// is when the lease is on disk.
bool World::may_wait_for_rate(const std::string& service) const {
  const auto found = rates_.find(service);
  const milliseconds heard_within = pulled_.contains(service) ? granted_within : in_transit;
  return found != rates_.end() && now_steady < found->second.next() + heard_within;
}

std::size_t World::running_at(const std::string& service) const {
  return static_cast<std::size_t>(
      std::count_if(handed_out_.begin(), handed_out_.end(),
                    [&](const auto& item) { return item.second.service == service; }));
}

/// Whether another attempt at the service may begin, as far as the world knows.
bool World::may_have_permit(const std::string& service) const {
  if (may_be_held_back(service) || may_wait_for_rate(service)) return false;
  const auto found = protection_.find(service);
  if (found == protection_.end() || !found->second.protection.limits.concurrency) return true;
  return running_at(service) < *found->second.protection.limits.concurrency;
}

void World::check_bounds(const Job& job, std::size_t running, std::size_t max) {
  if (running > max)
    violated(Check::pool_size, to_string(job.cell) + " runs more jobs than its bound");
  if (changes_pending_[job.cell] > 0 || reload_) return;
  if (override_of(job.cell).state == CellState::paused) {
    violated(Check::pause, to_string(job.cell) + " starts a job while it is paused");
  }
  const auto target = size_of(job.cell);
  const std::size_t live = live_[job.cell].size();
  if (shares) return check_sharing(job, live);
  if (target && live > target->most) {
    violated(Check::pool_size, to_string(job.cell) + " starts its " + std::to_string(live) +
                                   "th job with a target of " + std::to_string(target->most));
  }
}

/// Of cells that borrow from each other, none exceeds its burst, and all together do not exceed
/// the capacity. A change of the capacity takes a moment to reach every cell. When it is lowered,
/// cells still start jobs within their guarantees while borrowers finish theirs, so that what
/// began before does not count.
void World::check_sharing(const Job& job, std::size_t live) {
  const auto size = size_of(job.cell);
  if (size && live > burst_of(job.cell, size->most)) {
    violated(Check::burst, to_string(job.cell) + " starts its " + std::to_string(live) +
                               "th job with a burst of " +
                               std::to_string(burst_of(job.cell, size->most)));
  }
  if (!running_max_ || now_steady <= rerouted_at_ + touched_within) return;
  const std::size_t all = live_everywhere() - begun_before_lowering();
  if (all <= *running_max_) return;
  violated(Check::capacity, name(job) + " is one of " + std::to_string(all) +
                                " that run with a capacity of " + std::to_string(*running_max_));
}

/// Those of the live leases that are older than the lowered capacity.
std::size_t World::begun_before_lowering() const {
  if (!capacity_lowered_at_) return 0;
  return static_cast<std::size_t>(
      std::count_if(handed_out_.begin(), handed_out_.end(), [this](const auto& item) {
        return item.second.at <= *capacity_lowered_at_ + touched_within;
      }));
}

// --- An attempt is over --------------------------------------------------------------------------

void World::lease_ended(const Job& before, const Job& after, AbortCause cause) {
  note("ended " + name(before) + " lease " + to_string(before.lease) + " → " +
       std::string(to_string(after.state)));
  live_[before.cell].erase(before.lease);
  note_outside_answer(before);
  check_outcome(before, after, cause);
  check_cause(before, after, cause);
  check_turns(before);
  EndedAttempt end = judge(before, cause);
  end.is_last = is_ended(after.state);
  check_verdict(end, before, after, cause);
  note_circuit(before, cause);
  note_ungranted(before);
  last_end_at_[before.spec->services[before.step]] = now_steady;
  ended_[before.id] = end;
  if (!before.steps[before.step].worker.empty()) over_at_[before.lease] = now_steady;
  handed_out_.erase(before.lease);
  answers_.erase(before.lease);
}

/// An attempt may only end once its call is over, and its result must be what its provider
/// reported.
void World::check_outcome(const Job& before, const Job& after, AbortCause cause) {
  if (in_flight_.contains(before.lease)) {
    violated(Check::call_outlives_attempt, name(before) + " ends an attempt whose call continues");
  }
  const auto answer = answers_.find(before.lease);
  const bool succeeded =
      answer != answers_.end() && answer->second.kind == CallOutcome::Kind::succeeded;
  const bool kept = after.steps[before.step].state ==
                    (is_compensating(before) ? StepState::undone : StepState::succeeded);
  if (kept && !succeeded)
    violated(Check::false_success, name(before) + " succeeded without its provider");
  const bool known = last_end_ == AttemptEnd::Kind::succeeded || answer_is_certain(before, cause);
  if (succeeded && known && !answer->second.garbage && !kept) {
    violated(Check::lost_success, name(before) + " lost the success of its provider");
  }
  const Step& step = after.steps[before.step];
  const bool pending =
      answer != answers_.end() && answer->second.kind == CallOutcome::Kind::pending;
  if (pending && known && step.operation.empty()) {
    violated(Check::operation_kept, name(before) + " forgets the operation of its provider");
  }
}

void World::check_cause(const Job& before, const Job& after, AbortCause cause) {
  using Kind = AttemptEnd::Kind;
  if ((last_end_ == Kind::interrupted || last_end_ == Kind::handed_back) &&
      attempts_in(after, before) + 1 != attempts_in(before, before)) {
    violated(Check::uncounted_attempt, name(before) + " counts an attempt that must not count");
  }
  const auto given = handed_out_.find(before.lease);
  const bool outside = !before.steps[before.step].worker.empty();
  if (given == handed_out_.end()) {
    if (outside) violated(Check::lease_kept, name(before) + " ends a lease that was not live");
    return;  // From an earlier daemon.
  }
  if (cause == AbortCause::timeout && now_steady < given->second.deadline) {
    violated(Check::early_timeout, name(before) + " timed out too early");
  }
  if (outside) return check_outside_end(before, cause);
  const bool cut_short = cause == AbortCause::worker_lost || cause == AbortCause::hand_back;
  if (cut_short && !is_shutting_down() && !dying_ && !is_disturbed(before.cell, before.lease)) {
    violated(Check::cut_short, name(before) + " was cut short although nothing had died");
  }
  if (cause == AbortCause::hand_back && is_shutting_down() && now_steady < grace_over_at_ &&
      !is_disturbed(before.cell, before.lease)) {
    violated(Check::grace, name(before) + " was handed back during the grace period");
  }
}

/// Judges an attempt by its provider's answer and the engine's requests. An attempt may or may not
/// count if it was cut short after its provider's answer, which may have died with its carrier.
EndedAttempt World::judge(const Job& before, AbortCause cause) {
  using Kind = CallOutcome::Kind;
  EndedAttempt end{before.lease, before.cell, attempted_step(before)};
  const bool cut = cause == AbortCause::worker_lost || cause == AbortCause::hand_back;
  const auto answer = answers_.find(before.lease);
  const bool answered = answer != answers_.end() && answer->second.kind != Kind::aborted;
  const bool throttled =
      answered && (answer->second.kind == Kind::throttled || answer->second.kind == Kind::unable);
  const bool pending = answered && answer->second.kind == Kind::pending;
  const bool uncounted = throttled || pending;
  end.counts = !cut && !uncounted;
  end.may_count = answered && (cut || (uncounted && !answer_is_certain(before, cause)));
  end.cut_short = cause == AbortCause::worker_lost;
  end.continues = pending && answer_is_certain(before, cause);
  if (end.counts && may_be_probe(before)) {
    end.counts = false;
    end.may_count = !is_probe(before);
  }
  const auto called = last_call_.find(before.id);
  const bool begun = called != last_call_.end() && called->second == before.lease;
  // The engine knows settle_ms from the configuration alone, so not for a missing service.
  const std::string& service = before.spec->services[before.step];
  const bool unknown = begun && (!answered || answer->second.kind == Kind::unknown);
  const bool failed = answered && !answer->second.garbage &&
                      (answer->second.kind == Kind::rejected ||
                       answer->second.kind == Kind::retryable || throttled);
  end.had_no_effect = begun && failed && answer_is_certain(before, cause);
  // A worker that hangs up and lists its leases may find one that is on its way back.
  const bool returned = returned_.contains(before.lease);
  using End = AttemptEnd::Kind;
  end.must_undo = begun && !returned &&
                  (last_end_ == End::unknown || last_end_ == End::interrupted ||
                   last_end_ == End::expired || last_end_ == End::handed_back);
  if (unknown && services_.contains(service) && !returned) {
    end.doubt = Doubt{service, now_steady + settle, now_wall};
  }
  return end;
}

/// Whether the provider's answer must have arrived: no actor on its way has died, and the attempt
/// was not being aborted.
bool World::answer_is_certain(const Job& before, AbortCause cause) const {
  const auto killed = provider_killed_at_.find(before.spec->services[before.step]);
  const bool by_provider =
      is_touched(killed == provider_killed_at_.end() ? std::nullopt : std::optional{killed->second},
                 before.lease);
  return cause == AbortCause::none && !by_provider && !is_disturbed(before.cell, before.lease);
}

/// A job may fail only if its provider rejects it, its attempts are used up, it was interrupted too
/// often, or it has expired.
void World::check_verdict(const EndedAttempt& end, const Job& before, const Job& after,
                          AbortCause cause) {
  const auto answer = answers_.find(before.lease);
  const bool rejected = answer != answers_.end() && !answer->second.garbage &&
                        answer->second.kind == CallOutcome::Kind::rejected;
  const bool cut = cause == AbortCause::worker_lost || cause == AbortCause::hand_back;
  if (cut && (answer == answers_.end() || answer->second.kind == CallOutcome::Kind::aborted) &&
      attempts_in(after, before) + 1 != attempts_in(before, before)) {
    violated(Check::uncounted_attempt, name(before) + " counts an attempt that was cut short");
  }
  const bool failed = answer != answers_.end() && !answer->second.garbage &&
                      (answer->second.kind == CallOutcome::Kind::retryable ||
                       answer->second.kind == CallOutcome::Kind::unknown);
  if (failed && answer_is_certain(before, cause) && is_probe(before) &&
      attempts_in(after, before) + 1 != attempts_in(before, before)) {
    violated(Check::uncounted_attempt, name(before) + " counts a probe that failed");
  }
  if (rejected && answer_is_certain(before, cause) && !is_ended(after.state) &&
      !gave_up(before, after)) {
    violated(Check::final_rejection, name(before) + " continues after its provider rejected it");
  }
  if (!gave_up(before, after) || rejected) return;
  AttemptsMade made = made_[before.id];
  if (made.step != attempted_step(before)) made = {attempted_step(before)};
  const auto expiry = expiry_of(before);
  const bool expired = expiry && *expiry <= latest_wall;
  const bool cut_often = end.cut_short && made.cut_short + 1 >= interruptions_max;
  const std::uint32_t tried = made.counted + made.perhaps + (end.counts || end.may_count ? 1 : 0);
  if (!expired && !cut_often && tried < before.spec->max_attempts) {
    violated(Check::early_failure, name(before) + " fails after " + std::to_string(tried) + " of " +
                                       std::to_string(before.spec->max_attempts) + " attempts");
  }
}

/// Counts an attempt once its end is on disk; a crash forgets the others.
void World::note_attempt_written(const Job& after) {
  const auto found = ended_.find(after.id);
  if (found == ended_.end()) return;
  const EndedAttempt& end = found->second;
  const bool written =
      after.lease > end.lease || (after.lease == end.lease && after.state != JobState::running);
  if (!written) return;
  AttemptsMade& made = made_[after.id];
  if (made.step != end.step) made = {end.step};
  made.counted += end.counts ? 1 : 0;
  made.perhaps += end.may_count ? 1 : 0;
  if (end.cut_short) made.cut_short += 1;
  if (end.counts || end.continues) made.cut_short = 0;
  if (end.doubt) doubts_[entity_of(after)] = *end.doubt;
  if (const auto done = steps_done_.find(after.id); done != steps_done_.end()) {
    if (end.must_undo && end.step < after.steps.size()) done->second.must_undo.insert(end.step);
    auto& calls_of_step = done->second.perhaps_done[end.step];
    if (end.had_no_effect && calls_of_step > 0) calls_of_step -= 1;
  }
  ended_.erase(found);
}

/// A job that ends and is reopened within one commit shows it by a new place; no unfinished job
/// changes its place.
void World::note_reopening_written(const Job& before, const Job& after) {
  const bool other_place = before.place != 0 && before.place != after.place;
  if (!is_ended(after.state) && (is_ended(before.state) || other_place)) made_.erase(after.id);
}

}  // namespace simulation
