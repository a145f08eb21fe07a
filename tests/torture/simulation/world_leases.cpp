// The leases of workers outside the daemon. The engine's word counts for which leases are live;
// what the workers have been told, and what is on disk, must agree with it.
#include <algorithm>

#include "tests/torture/simulation/world.hpp"

namespace simulation {
namespace {

/// The engine reads the wall clock once a second.
constexpr milliseconds expiry_allowance{1200};
/// Between a start and the first deadlines of the leases that it keeps: some reads, in each cell.
constexpr milliseconds started_within{2000};
/// Enough for a commit or two and one reading of the wall clock.
constexpr milliseconds idle_max{1200};
/// Enough for the messages between two cells and the capacity desk.
constexpr milliseconds borrowed_within{400};
/// How long a cell keeps a slot that it borrowed for a worker outside, at least.
constexpr milliseconds slots_linger{9000};
/// Between a commit and the moment at which every actor knows of it.
constexpr milliseconds known_within{1000};
/// The wall clock counts milliseconds.
constexpr milliseconds rounding{2};

bool has_report(const Job& job, const StepReport& report) {
  return std::any_of(job.steps.begin(), job.steps.end(),
                     [&](const Step& step) { return step.report == report; });
}

}  // namespace

// --- What the engine does with leases ------------------------------------------------------------

/// A start: the leases that are on disk are live, each with its full timeout.
void World::keep_leases() {
  for (const auto& [id, stored] : disk->jobs()) {
    const Job& job = *stored.job;
    if (job.state != JobState::running || job.steps[job.step].worker.empty()) continue;
    const SteadyTime deadline = now_steady + job.spec->timeout;
    LiveHandOut given{id, job.spec->customer, now_steady, deadline, deadline + started_within};
    given.entity = entity_of(job);
    given.timeout = job.spec->timeout;
    given.worker = job.steps[job.step].worker;
    given.is_granted = true;
    given.is_received = last_call_[id] == job.lease;
    given.expires_at = expiry_of(job);
    given.service = job.spec->services[job.step];
    handed_out_[job.lease] = std::move(given);
    live_[job.cell].insert(job.lease);
  }
}

/// A dispatcher that starts gives the leases outside their full timeout again.
void World::expect_fresh_deadlines(const CellKey& cell) {
  for (const Lease& lease : live_[cell]) {
    const auto found = handed_out_.find(lease);
    if (found == handed_out_.end() || found->second.worker.empty()) continue;
    auto& given = found->second;
    given.deadline_latest =
        std::max(given.deadline_latest, now_steady + given.timeout + known_within);
    given.expired_since.reset();
  }
}

/// The engine ends a lease outside by a report: which one does not matter, if there was one.
void World::note_outside_answer(const Job& before) {
  if (before.steps[before.step].worker.empty()) return;
  const bool succeeded = last_end_ == AttemptEnd::Kind::succeeded;
  const bool failed =
      last_end_ == AttemptEnd::Kind::rejected || last_end_ == AttemptEnd::Kind::retryable;
  if (!succeeded && !failed) return;
  if (!reports_[before.lease].contains(succeeded)) {
    violated(Check::false_success, name(before) + " ends by a report that no worker has made");
  }
  CallAnswer answer;
  answer.kind = succeeded                                 ? CallOutcome::Kind::succeeded
                : last_end_ == AttemptEnd::Kind::rejected ? CallOutcome::Kind::rejected
                                                          : CallOutcome::Kind::retryable;
  answers_[before.lease] = answer;
}

bool World::is_to_be_cancelled(JobId id) const {
  const auto stored = disk->jobs().find(id);
  return stored != disk->jobs().end() && stored->second.job->cancel_requested;
}

/// A lease outside ends by a report, at its deadline, when its job expires, or when its worker has
/// hung up. One that its worker does not know of yet also ends when its job is cancelled.
void World::check_outside_end(const Job& before, AbortCause cause) {
  if (answers_.contains(before.lease)) return;
  const LiveHandOut& given = handed_out_.at(before.lease);
  const bool overdue = now_steady >= given.deadline;
  const auto expiry = expiry_of(before);
  const bool expired = expiry && *expiry <= latest_wall;
  bool right = false;
  switch (cause) {
    case AbortCause::timeout:
      right = overdue;
      break;
    case AbortCause::expiry:
      right = expired;
      break;
    case AbortCause::cancel:
      right = (is_cancel_asked(before.id) || is_to_be_cancelled(before.id)) &&
              (overdue || expired || !given.is_received);
      break;
    case AbortCause::hand_back:
      right = returned_.contains(before.lease);
      break;
    case AbortCause::worker_lost:
    case AbortCause::none:
      break;
  }
  if (!right) violated(Check::lease_kept, name(before) + " ends the lease of a worker outside");
}

void World::check_outside_times() {
  for (auto& [lease, given] : handed_out_) {
    if (given.worker.empty() || !given.expires_at || now_wall < *given.expires_at) {
      given.expired_since.reset();
    } else if (!given.expired_since) {
      given.expired_since = now_steady;
    } else if (now_steady > *given.expired_since + expiry_allowance) {
      violated(Check::expiry, format_job_id(given.job) + " is still leased after it expired");
    }
  }
}

// --- Asking for leases ---------------------------------------------------------------------------

void World::leases_asked(const RequestLeases& request) {
  note(request.worker + " asks for " + std::to_string(request.max) + " of " + request.service +
       (request.customer ? " for " + *request.customer : "") + (request.wait ? " and waits" : ""));
  wanted_[request.request] = {request, now_steady};
}

void World::leases_withdrawn(std::uint64_t request) {
  const auto found = wanted_.find(request);
  if (found != wanted_.end()) found->second.is_withdrawn = true;
}

void World::leases_answered(std::uint64_t request, const LeasesGranted& answer, bool delivered) {
  const LeasesWanted wanted = std::move(wanted_.extract(request).mapped());
  check_granted(wanted, answer);
  for (const auto& lease : answer.leases) {
    const Job& job = *lease.job;
    note((delivered ? "lease " : "undelivered lease ") + to_string(job.lease) + " of " + name(job) +
         " for " + wanted.asked.worker);
    check_lease_stored(job);
    if (const auto given = handed_out_.find(job.lease); given != handed_out_.end()) {
      given->second.is_granted = true;
    }
    if (delivered) lease_received(lease);
  }
}

/// A request that waits is answered with leases, unless it is withdrawn. One that does not wait
/// gets leases if there are any.
void World::check_granted(const LeasesWanted& wanted, const LeasesGranted& answer) {
  const RequestLeases& asked = wanted.asked;
  for (const auto& lease : answer.leases) {
    const Job& job = *lease.job;
    if (job.spec->services[job.step] != asked.service ||
        job.steps[job.step].worker != asked.worker ||
        (asked.customer && *asked.customer != job.spec->customer)) {
      violated(Check::wrong_service, name(job) + " is leased to another worker");
    }
  }
  if (answer.leases.size() > asked.max) {
    violated(Check::wrong_service, asked.worker + " gets more leases than it asked for");
  }
  if (!answer.leases.empty() || dying_ || is_shutting_down()) return;
  if (asked.wait && !wanted.is_withdrawn) {
    violated(Check::idle_lease, asked.worker + " waits for a lease and is sent away");
  }
  if (!asked.wait) sent_away(asked, wanted.at);
}

/// A job whose cancellation is being written is not leased. Its cell must then lease another one,
/// if it has had that one for long.
bool World::cancellations_may_leave_none(const Leasable& leasable, SteadyTime asked_at) const {
  bool is_one_cancelled = false;
  for (const auto& [id, since] : leasable.jobs) {
    if (was_being_cancelled(id, asked_at)) {
      is_one_cancelled = true;
    } else if (since + idle_max < asked_at) {
      return false;
    }
  }
  return is_one_cancelled;
}

/// A cell that has to borrow for the lease has the slot when the next request comes, and keeps it
/// for a while.
void World::sent_away(const RequestLeases& asked, SteadyTime at) {
  for (auto& [which, leasable] : leasable_) {
    const auto& [cell, service, customer] = which;
    if (service != asked.service || (asked.customer && *asked.customer != customer)) continue;
    if (leasable.since + idle_max >= at || !may_have_permit(service)) continue;
    if (cancellations_may_leave_none(leasable, at)) continue;
    if (shares) {
      const auto before = leasable.sent_away_at;
      const bool keeps = before && at <= *before + slots_linger;
      if (!keeps) leasable.sent_away_at = now_steady;
      if (!keeps || at <= *before + borrowed_within) continue;
    }
    violated(Check::idle_lease, asked.worker + " gets no lease although " + to_string(cell) +
                                    " has had jobs of " + service + " for long");
  }
}

void World::leases_failed(std::uint64_t request) {
  wanted_.erase(request);
  if (!dying_ && !is_shutting_down()) {
    violated(Check::failed_request, "a request for leases fails although nothing has died");
  }
}

/// A lease that leaves the daemon is on disk, under the name of its worker. Its attempt may be over
/// by the time that the worker reads the answer.
void World::check_lease_stored(const Job& job) {
  const auto found = disk->jobs().find(job.id);
  if (found == disk->jobs().end()) {
    if (!pruned_jobs.contains(job.id))
      violated(Check::lease_stored, name(job) + " is leased and not on disk");
    return;
  }
  const Job& stored = *found->second.job;
  const bool same = stored.lease == job.lease && stored.state == JobState::running;
  if (stored.lease < job.lease ||
      (same && stored.steps[stored.step].worker != job.steps[job.step].worker)) {
    violated(Check::lease_stored, name(job) + " is leased, but not on disk");
  }
}

void World::lease_received(const LeaseOut& lease) {
  const Job& job = *lease.job;
  const auto found = handed_out_.find(job.lease);
  if (found == handed_out_.end()) return;  // It is over already.
  LiveHandOut& given = found->second;
  if (!std::exchange(given.is_received, true)) {  // It may have found the lease in a list before.
    calls += 1;
    check_call(job, job.lease, job.spec->services[job.step]);
  }
  given.deadline = std::max(given.deadline, lease.deadline);
  if (given.holds == 0) {  // A heartbeat after it was found in a list may have moved the deadline.
    given.deadline_latest = expiry_of(job) ? now_steady + given.timeout : given.deadline;
  }
}

void World::lease_found(const LeaseOut& lease) {
  const auto found = handed_out_.find(lease.job->lease);
  if (found == handed_out_.end() || found->second.is_received) return;
  // The dispatcher may have been replaced since it decided on this deadline.
  const SteadyTime latest = found->second.deadline_latest;
  lease_received(lease);
  found->second.deadline_latest = std::max(latest, found->second.deadline_latest);
}

// --- Heartbeats and reports ----------------------------------------------------------------------

std::uint64_t World::extension_asked(Lease lease, JobId job) {
  LeaseUse use{lease, job, now_steady};
  const auto found = handed_out_.find(lease);
  if (found != handed_out_.end() && !found->second.worker.empty()) {
    use.was_live = true;
    use.deadline_latest =
        found->second.holds == 0 ? found->second.deadline_latest : SteadyTime::max();
    found->second.holds += 1;
  }
  uses_.emplace(++requests_, use);
  return requests_;
}

LeaseUse World::finish_use(std::uint64_t number) {
  const LeaseUse use = uses_.extract(number).mapped();
  const auto found = handed_out_.find(use.lease);
  if (!use.outcome && use.was_live && found != handed_out_.end() && found->second.holds > 0) {
    found->second.holds -= 1;
  }
  return use;
}

/// Whether the lease was live outside from the request to its answer, and no actor on the way has
/// died.
bool World::must_be_live(const LeaseUse& use) const {
  const auto found = handed_out_.find(use.lease);
  const bool is_live = found != handed_out_.end() && !found->second.worker.empty();
  const bool killed = lost_dispatcher_of(use.job, use.at - known_within);
  return use.was_live && is_live && !killed && !dying_ && !is_shutting_down() &&
         use.at > started_at_ + known_within;
}

void World::extension_answered(std::uint64_t number, const LeaseExtended& answer) {
  const LeaseUse use = finish_use(number);
  note("heartbeat of " + to_string(use.lease) + (answer.lease ? "" : ": lost") +
       (answer.cancel ? ": cancel" : ""));
  if (!answer.lease) {
    if (must_be_live(use)) {
      violated(Check::lease_kept, format_job_id(use.job) + " has a live lease without its worker");
    }
    return;
  }
  if (!use.was_live) {
    violated(Check::stale_accepted, format_job_id(use.job) + " takes a heartbeat after its lease");
  } else if (use.at > use.deadline_latest &&
             !lost_dispatcher_of(use.job, use.deadline_latest - in_transit)) {
    // A dispatcher that dies at the deadline has a successor, which gives the lease a new one.
    violated(Check::revived, format_job_id(use.job) + " takes a heartbeat after its deadline");
  }
  check_told(use, *answer.lease, answer.cancel);
  const auto found = handed_out_.find(use.lease);
  if (found == handed_out_.end()) return;
  LiveHandOut& given = found->second;
  const SteadyTime told = answer.lease->deadline;
  given.deadline = std::max(given.deadline, told);
  const bool exact = answer.cancel || !given.expires_at;
  given.deadline_latest =
      std::max(given.deadline_latest, exact ? told : now_steady + given.timeout);
}

/// A heartbeat moves the deadline to the time of the decision plus the timeout, but not beyond the
/// expiry of the job.
void World::check_told(const LeaseUse& use, const LeaseOut& lease, bool cancel) {
  const Job& job = *lease.job;
  const SteadyTime told = lease.deadline;
  bool right = told <= now_steady + job.spec->timeout;
  const auto expiry = expiry_of(job);
  if (!expiry) {
    right = right && (cancel || told >= use.at + job.spec->timeout);
  } else if (jumped_at_ < use.at) {
    right = right && told <= now_steady + (*expiry - now_wall) + rounding;
  }
  if (!right) {
    violated(Check::lease_deadline, name(job) + " has its lease for " +
                                        std::to_string((told - now_steady).count() / 1000) +
                                        " ms, with a timeout of " +
                                        std::to_string(job.spec->timeout.count()) + " ms");
  }
}

std::uint64_t World::report_asked(Lease lease, JobId job, bool succeeded) {
  LeaseUse use{lease, job, now_steady};
  const auto found = handed_out_.find(lease);
  use.was_live = found != handed_out_.end() && !found->second.worker.empty();
  use.outcome = succeeded;
  // A report that arrives behind the same one gets its answer.
  const auto earlier = reports_.find(lease);
  if (earlier != reports_.end() && earlier->second.contains(succeeded)) use.was_live = true;
  reports_[lease].insert(succeeded);
  uses_.emplace(++requests_, use);
  return requests_;
}

/// Whether the disk shows that the lease ended by this report.
bool World::is_reported(const LeaseUse& use) const {
  const auto found = disk->jobs().find(use.job);
  return found != disk->jobs().end() && has_report(*found->second.job, {use.lease, *use.outcome});
}

void World::report_answered(std::uint64_t number, bool accepted) {
  const LeaseUse use = finish_use(number);
  const std::string job = format_job_id(use.job);
  note("report of " + to_string(use.lease) + (*use.outcome ? ", success" : ", failure") +
       (accepted ? "" : ": lost"));
  const auto stored = disk->jobs().find(use.job);
  const bool is_latest = stored != disk->jobs().end() && stored->second.job->lease == use.lease;
  const auto known = reported_.find(use.lease);
  if (accepted) {
    if (!use.was_live) violated(Check::stale_accepted, job + " takes a report after its lease");
    if (known != reported_.end() && known->second != *use.outcome) {
      violated(Check::stale_accepted, job + " takes both outcomes of one lease");
    }
    reported_[use.lease] = *use.outcome;
    if (is_latest ? !is_reported(use)
                  : stored != disk->jobs().end() && stored->second.job->lease < use.lease) {
      violated(Check::report_stored, job + " has an acknowledged report that is not on disk");
    }
    return;
  }
  if (known != reported_.end() && known->second == *use.outcome && is_latest) {
    violated(Check::repeat_refused, job + " refuses a report that it took before");
  } else if (must_be_live(use)) {
    violated(Check::lease_kept, job + " has a live lease and refuses its report");
  }
}

// --- Lists ---------------------------------------------------------------------------------------

std::uint64_t World::list_asked(const std::string& worker) {
  LeaseList list{worker, now_steady, {}};
  for (const auto& [lease, given] : handed_out_) {
    if (given.worker == worker) list.live.insert(lease);
  }
  lists_.emplace(++requests_, std::move(list));
  return requests_;
}

/// The list has what was live all the time, and nothing that never was.
void World::list_answered(std::uint64_t number, const LeasesListed& answer) {
  const LeaseList list = std::move(lists_.extract(number).mapped());
  note(list.worker + " finds " + std::to_string(answer.leases.size()) + " leases");
  std::set<Lease> listed;
  for (const auto& lease : answer.leases) {
    const Lease found = lease.job->lease;
    listed.insert(found);
    const auto given = handed_out_.find(found);
    const bool live = given != handed_out_.end() && given->second.worker == list.worker;
    const auto over = over_at_.find(found);  // The desk may not have heard of it yet.
    const bool was_live = over != over_at_.end() && over->second >= list.at - in_transit;
    if (!live && !was_live && !list.live.contains(found) && !answers_.contains(found)) {
      violated(Check::lease_listed, to_string(found) + " is listed and not live");
    }
    check_lease_stored(*lease.job);
  }
  if (answer.more || dying_ || is_shutting_down()) return;
  for (const auto& [lease, given] : handed_out_) {
    const bool known = given.at + known_within < list.at && given.is_received;
    if (!known || !list.live.contains(lease) || listed.contains(lease)) continue;
    if (started_at_ + known_within >= list.at) continue;
    if (lost_dispatcher_of(given.job, list.at - known_within)) continue;
    violated(Check::lease_listed, to_string(lease) + " is live and not listed");
  }
}

/// Heartbeats and reports outlive everything but the daemon.
void World::use_failed(std::uint64_t number) {
  if (const auto use = uses_.find(number); use != uses_.end()) {
    const auto given = handed_out_.find(use->second.lease);
    if (given != handed_out_.end()) {
      given->second.deadline_latest =
          std::max(given->second.deadline_latest, now_steady + given->second.timeout);
    }
    finish_use(number);
  }
  lists_.erase(number);
  if (!dying_ && !is_shutting_down()) {
    violated(Check::failed_request, "a worker outside gets an error although nothing has died");
  }
}

// --- Never idle ----------------------------------------------------------------------------------

bool World::is_pulled(const Job& job) const {
  return job.step < job.spec->services.size() && pulled_.contains(job.spec->services[job.step]);
}

/// Whether each cell could lease a job of each service at once: no slot has to wait for another.
bool World::have_slots_for_all() const {
  std::map<CellKey, std::set<std::string>> services;
  for (const auto& [which, each] : leasable_) {
    services[std::get<0>(which)].insert(std::get<1>(which));
  }
  std::size_t wanted = idle_since_.size();
  for (const auto& [cell, of_cell] : services) {
    wanted += of_cell.size();
    const auto live = live_.find(cell);
    const std::size_t taken = live == live_.end() ? 0 : live->second.size();
    const auto size = size_of(cell).value_or(SizeRange{}).least;
    const std::size_t idle = idle_since_.contains(cell) ? 1 : 0;
    if (taken + of_cell.size() + idle > burst_of(cell, size)) return false;
  }
  return live_everywhere() + wanted <= capacity_at_least();
}

/// A request that waits gets a job as soon as there is one that it may have.
void World::check_idle_lanes() {
  if (pulled_.empty() || dying_ || is_shutting_down() || reload_) return leasable_.clear();
  std::map<std::tuple<CellKey, std::string, std::string>, std::set<JobId>> leasable;
  for (const auto& [id, stored] : disk->jobs()) {
    const Job& job = *stored.job;
    if (!is_pulled(job) || !is_runnable(job) || !may_start_one(job.cell)) continue;
    if (is_at_running_quota(job)) continue;
    if (!may_have_permit(job.spec->services[job.step])) continue;
    leasable[{job.cell, job.spec->services[job.step], job.spec->customer}].insert(id);
  }
  std::erase_if(leasable_, [&](const auto& item) { return !leasable.contains(item.first); });
  for (const auto& each : leasable) {
    auto& jobs = leasable_.try_emplace(each.first, Leasable{now_steady}).first->second.jobs;
    std::erase_if(jobs, [&](const auto& job) { return !each.second.contains(job.first); });
    for (const JobId id : each.second) jobs.try_emplace(id, now_steady);
  }
  if (shares && !have_slots_for_all()) {
    for (auto& [which, each] : leasable_) each.sent_away_at.reset();
  }
  for (const auto& [number, wanted] : wanted_) {
    const RequestLeases& asked = wanted.asked;
    if (wanted.is_withdrawn) continue;
    for (const auto& [which, each] : leasable_) {
      const auto& [cell, service, customer] = which;
      if (service != asked.service || (asked.customer && *asked.customer != customer)) continue;
      if (now_steady <= std::max(each.since, wanted.at) + idle_max) continue;
      violated(Check::idle_lease, asked.worker + " waits although " + to_string(cell) +
                                      " could lease a job of " + service);
    }
  }
}

}  // namespace simulation
