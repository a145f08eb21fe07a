// The leases of workers outside.
#include <algorithm>
#include <utility>

#include "cells/actors/job_dispatcher_actor.hpp"

namespace cells {

// --- Granting ------------------------------------------------------------------------------------

caf::result<GrantAnswered> JobDispatcherActor::grant(const GrantLeases& message) {
  const auto found = lanes_.find(message.service);
  if (found == lanes_.end()) return GrantAnswered{};
  free_reserved(found->second);
  auto promise = make_response_promise<GrantAnswered>();
  grant_now(message, granting_.add(promise));
  return promise;
}

void JobDispatcherActor::grant_now(const GrantLeases& message, std::uint64_t owed) {
  const auto found = lanes_.find(message.service);
  if (found == lanes_.end() || found->second.kind != LaneKind::leases) {
    return granting_.deliver(owed, GrantAnswered{});
  }
  Lane& lane = found->second;
  const Now at = now();
  std::vector<Lease> leases;
  std::size_t bytes = 0;
  while (leases.size() < message.count && bytes < message.bytes_max && may_start() &&
         has_free_slot()) {
    const JobPtr job = take_for(lane, message, at);
    if (!job) break;
    bytes += approximate_bytes(*job);
    leases.push_back(context_->leases.next());
    LiveLease entry;
    entry.deadline = SteadyTime::max();  // Until the lease is on disk.
    lease_out(job, leases.back(), std::move(entry), message.worker, at);
    lane.served = ++served_;
  }
  if (!leases.empty()) {
    request(store(), caf::infinite, FlushStore{durability()})
        .then(
            [this, leases, message, owed](const StoreFlushed&) { granted(leases, message, owed); },
            [this, owed](caf::error& error) { granting_.deliver(owed, std::move(error)); });
  } else if (is_fetching_for(message, lane)) {
    sought_.emplace_back(message, owed);
  } else {
    granting_.deliver(owed, GrantAnswered{{}, lane_state(lane, message.customer), 0});
  }
  dispatch(at);
  arm(at);
}

/// Whether the lane could grant a lease if the fetch that is under way brings a job. Even a worker
/// that does not wait must get a job that is in the store but not in the window.
bool JobDispatcherActor::is_fetching_for(const GrantLeases& message, Lane& lane) {
  if (message.customer && !lane.queue.seeks(*message.customer)) return false;
  return may_bring_job_for(message, lane);
}

/// Whether the window has no job for such a worker, but the store may have one, and a slot is free.
bool JobDispatcherActor::may_bring_job_for(const GrantLeases& message, Lane& lane) {
  if (!may_start() || !has_free_slot()) return false;
  if (message.customer) return lane.queue.may_bring(*message.customer);
  fetch_for(message.service, lane.queue);
  return lane.queue.empty() && lane.queue.is_fetching();
}

/// The store has answered a fetch for the lane.
void JobDispatcherActor::grant_sought(const std::string& lane) {
  for (const auto& [message, owed] : std::exchange(sought_, {})) {
    if (message.service == lane) {
      grant_now(message, owed);
    } else {
      sought_.emplace_back(message, owed);
    }
  }
}

/// The next job that may start, taken from the lane; null if there is none.
JobPtr JobDispatcherActor::take_for(Lane& lane, const GrantLeases& message, const Now& at) {
  for (;;) {
    JobPtr job = message.customer ? lane.queue.take_of(*message.customer) : lane.queue.take();
    if (!job || can_start(job, lane.queue, at)) return job;
  }
}

/// The leases are on disk. A lease whose job was cancelled meanwhile is over.
void JobDispatcherActor::granted(const std::vector<Lease>& leases, const GrantLeases& message,
                                 std::uint64_t owed) {
  const Now at = now();
  GrantAnswered answer;
  for (const Lease& lease : leases) {
    const LiveLease* live = leases_.find(lease);
    if (!live) continue;
    leases_.start(lease, at.steady + live->job->spec->timeout);
    answer.leases.push_back(out(*live, at));
  }
  const auto found = lanes_.find(message.service);
  if (found != lanes_.end()) {
    Lane& lane = found->second;
    const bool may_follow = lane.kind == LaneKind::leases && may_bring_job_for(message, lane);
    if (may_follow) lane.reported = true;
    answer.lane = may_follow ? LaneState::more : lane_state(lane, message.customer);
    answer.available = available(lane);
  }
  granting_.deliver(owed, std::move(answer));
  dispatch(at);
  arm(at);
}

/// Keeps a lease of an earlier epoch, or of a dispatcher that died.
void JobDispatcherActor::keep_lease(const JobPtr& job, const Now& at) {
  LiveLease entry;
  entry.job = job;
  entry.handed_out_at = at.steady;
  entry.deadline = at.steady + job->spec->timeout;
  entry.started = true;
  entry.outside = true;
  if (const Service* service = find_service(*job)) entry.settle = service->settle;
  leases_.add(job->lease, std::move(entry));
  begin_running(job->spec->customer);
  if (job->cancel_requested) leases_.ask_back(job->lease);
  send(context_->desk, LeaseKept{out(*leases_.find(job->lease), at), key_, cell_});
}

LeaseOut JobDispatcherActor::out(const LiveLease& live, const Now& at) const {
  SteadyTime deadline = live.deadline;
  if (const auto expiry = expiry_of(*live.job)) {
    deadline = std::min<SteadyTime>(deadline, at.steady + (*expiry - at.wall));
  }
  return {live.job, deadline};
}

// --- While a lease is out ------------------------------------------------------------------------

LeaseExtended JobDispatcherActor::extend(const ExtendLease& message) {
  LiveLease* live = leases_.find(message.lease);
  if (!live || !live->outside) {
    context_->options.probe->stale_report(key_, message.lease);
    return {};
  }
  const Now at = now();
  if (live->abort == AbortCause::none) {
    leases_.start(message.lease, at.steady + live->job->spec->timeout);
  }
  if (message.progress || !message.message.empty()) {
    live->job = std::make_shared<const Job>(
        note_progress(*live->job, message.progress, message.message, at.wall));
    keep_progress(message.lease);
  }
  arm(at);
  return {out(*live, at), live->abort != AbortCause::none};
}

/// Stores the progress that the worker has reported. Reports that arrive meanwhile wait, so that a
/// worker that reports often costs at most one write per commit.
void JobDispatcherActor::keep_progress(Lease lease) {
  const auto [storing, begins] = storing_progress_.try_emplace(lease, false);
  if (!begins) {
    storing->second = true;
    return;
  }
  const JobPtr job = leases_.find(lease)->job;
  request(store(), caf::infinite, RecordJob{lease, job})
      .then(
          [this, lease, job](const JobRecorded& result) {
            if (!result.applied) {
              quit(caf::make_error(caf::sec::runtime_error, "a record was refused as stale"));
              return;
            }
            const bool again = storing_progress_.extract(lease).mapped();
            if (!leases_.find(lease)) return;
            tell(*context_, job);
            if (again) keep_progress(lease);
          },
          [this, lease](const caf::error&) { storing_progress_.erase(lease); });
}

/// A repeated report, while the first is being stored, gets the same answer.
caf::result<LeaseEnded> JobDispatcherActor::end_lease(EndLease& message) {
  const bool succeeded = message.outcome.kind == CallOutcome::Kind::succeeded;
  const StepReport report{message.lease, succeeded};
  const LiveLease* live = leases_.find(message.lease);
  if (!live || !live->outside) {
    const auto first = message.job ? ending_.find(message.job->id) : ending_.end();
    if (first != ending_.end() && first->second.report == report) {
      return first->second.answers.add(make_response_promise<LeaseEnded>());
    }
    context_->options.probe->stale_report(key_, message.lease);
    return LeaseEnded{false};
  }
  Ending& ending = ending_[live->job->id];
  ending.report = report;
  auto promise = ending.answers.add(make_response_promise<LeaseEnded>());
  for (auto& each : message.outcome.messages) {
    each.time = context_->options.wall_clock();
    each.service = live->job->spec->services[live->job->step];
  }
  completed(message.lease, message.outcome, report);
  return promise;
}

/// These leases did not reach their workers.
void JobDispatcherActor::return_leases(const std::vector<Lease>& returned) {
  for (const Lease& lease : returned) {
    LiveLease* live = leases_.find(lease);
    if (!live || !live->outside) continue;
    live->started = false;  // No call has begun that would have to settle.
    end_outside(lease, AbortCause::hand_back);
  }
}

/// Ends the lease without a report. A worker that has it is asked to give it up first if the job
/// is to be cancelled.
void JobDispatcherActor::abort_outside(Lease lease, AbortCause cause) {
  const LiveLease& live = *leases_.find(lease);
  if (cause == AbortCause::cancel && live.started) {
    leases_.ask_back(lease);
  } else {
    end_outside(lease, live.abort == AbortCause::none ? cause : live.abort);
  }
}

void JobDispatcherActor::end_outside(Lease lease, AbortCause cause) {
  leases_.abort(lease, cause);
  CallOutcome outcome;
  outcome.kind = CallOutcome::Kind::aborted;
  completed(lease, outcome);
}

}  // namespace cells
