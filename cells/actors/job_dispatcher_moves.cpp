// Moves of jobs between cells, after the routing has changed.
//
// A job changes its cell in two moves: the old dispatcher moves it to `between_cells`, and the new
// one takes it from there. The store's answer to each move arrives in order with all its other
// answers and says by how many jobs the dispatcher's counts change, so neither dispatcher depends
// on the other. A dispatcher that is asked for both at once does one after the other: with full
// batches, two moves in opposite directions could continue for ever. Whatever dies in between,
// every start and every reload looks for jobs in `between_cells`.
#include <algorithm>
#include <utility>

#include "cells/actors/job_dispatcher_actor.hpp"

namespace cells {
namespace {

/// Whether some service, or an undo of one, is new.
bool adds_services(const Services& before, const Services& after) {
  return std::any_of(after.begin(), after.end(), [&](const auto& entry) {
    const auto old = before.find(entry.first);
    return old == before.end() || !without(entry.second.undoes, old->second.undoes).is_empty();
  });
}

}  // namespace

void JobDispatcherActor::change_terms(ConfigureCell& message) {
  const bool may_resume = adds_services(*config_.services, *message.config.services);
  config_ = std::move(message.config);
  adopt_settings();
  if (may_resume) release_holds();
  idle_reported_ = false;
  queue_.expect_more();
  for (auto& [name, lane] : lanes_) lane.queue.expect_more();
  change_desks();
  refresh_lanes();
  const Now at = now();
  dispatch(at);
  arm(at);
}

/// Releases the jobs of the cell that are held, a few at a time. A job may be held again at once if
/// its service is still missing; the ids only ascend, so that this ends nevertheless.
void JobDispatcherActor::release_holds() {
  if (std::exchange(may_hold_, false)) release_holds_after(0);
}

void JobDispatcherActor::release_holds_after(JobId id) {
  const auto limit = context_->options.store_sizes.held_jobs_max;
  request(store(), caf::infinite, ReleaseHolds{key_, id, limit, durability()})
      .then(
          [this, limit, id](const HoldsReleased& result) {
            const bool none_was_held = id == 0 && result.released == 0;
            if (result.released == limit) release_holds_after(result.last);
            if (none_was_held) return;
            queue_.expect_more();
            if (result.released < limit) refresh_lanes();
            dispatch(now());
          },
          [this](const caf::error& error) { quit(error); });
}

/// Whether jobs like this one run in this cell. A job that matches no cell stays where it is, and
/// waits for a configuration that has one.
bool JobDispatcherActor::is_ours(const JobSpec& spec) const {
  if (is_leaving(spec)) return false;
  if (!config_.routing) return true;
  const auto route = config_.routing->find(spec.customer, spec.product);
  return route && route->cell == key_;
}

/// Whether the cell is releasing the jobs of this customer and product. The store may have moved
/// them already, so a change made here would be counted twice.
bool JobDispatcherActor::is_leaving(const JobSpec& spec) const {
  return !releasing_.empty() && releasing_.contains({key_, spec.customer, spec.product});
}

bool JobDispatcherActor::may_have_left_some(const JobsMoved& result) const {
  return result.moved == context_->options.store_sizes.moved_jobs_max;
}

// --- Releasing jobs ------------------------------------------------------------------------------

caf::result<JobsReleased> JobDispatcherActor::release(const ReleaseJobs& message) {
  const StoredBacklog backlog{key_, message.customer, message.product};
  const bool under_way = releasing_.contains(backlog);
  auto& move = releasing_[backlog];
  auto promise = move.answers.add(make_response_promise<JobsReleased>());
  if (under_way) {
    move.again = true;
  } else if (!taking_over_.contains({between_cells, message.customer, message.product})) {
    release_some(backlog);
  }
  return promise;
}

void JobDispatcherActor::release_some(const StoredBacklog& backlog) {
  const auto limit = context_->options.store_sizes.moved_jobs_max;
  request(store(), caf::infinite, MoveJobs{backlog, between_cells, limit, false, durability()})
      .then([this, backlog](const JobsMoved& result) { released_some(backlog, result); },
            [this](const caf::error& error) { quit(error); });
}

/// Every answer that could bring one of these jobs into the window has arrived before this one.
void JobDispatcherActor::released_some(const StoredBacklog& backlog, const JobsMoved& result) {
  counts_ -= result.counts;
  if (std::exchange(releasing_.at(backlog).again, false) || may_have_left_some(result)) {
    release_some(backlog);
    return;
  }
  queue_.remove_all(backlog.customer, backlog.product);
  for (auto& [name, lane] : lanes_) lane.queue.remove_all(backlog.customer, backlog.product);
  releasing_.extract(backlog).mapped().answers.deliver(JobsReleased{});
  arm(now());
  const StoredBacklog back{between_cells, backlog.customer, backlog.product};
  if (taking_over_.contains(back)) take_over_some(back);
}

/// The job's attempt here is over: moves the job to its new cell, if there is one.
void JobDispatcherActor::hand_over(const Job& job) {
  if (!config_.routing->find(job.spec->customer, job.spec->product)) return;
  const ReleaseJobs message{job.spec->customer, job.spec->product};
  request(caf::actor_cast<JobDispatcher>(this), caf::infinite, message)
      .then([this, message](const JobsReleased&) {
        send(cell_, JobsLeft{message.customer, message.product});
      });
}

void JobDispatcherActor::report_left(const Job& job) {
  send(cell_, JobsLeft{job.spec->customer, job.spec->product});
}

// --- Taking over jobs ----------------------------------------------------------------------------

caf::result<TakenOver> JobDispatcherActor::take_over(const StoredBacklog& from) {
  const bool under_way = taking_over_.contains(from);
  auto& move = taking_over_[from];
  auto promise = move.answers.add(make_response_promise<TakenOver>());
  if (under_way) {
    move.again = true;
  } else if (!releasing_.contains({key_, from.customer, from.product})) {
    take_over_some(from);
  }
  return promise;
}

void JobDispatcherActor::take_over_some(const StoredBacklog& from) {
  const auto limit = context_->options.store_sizes.moved_jobs_max;
  request(store(), caf::infinite, MoveJobs{from, key_, limit, true, durability()})
      .then([this, from](const JobsMoved& result) { took_over_some(from, result); },
            [this](const caf::error& error) { quit(error); });
}

/// Some of these jobs may already be due; only an AdvanceDue can tell.
void JobDispatcherActor::took_over_some(const StoredBacklog& from, const JobsMoved& result) {
  counts_ += result.counts;
  const Now at = now();
  if (result.moved > 0) next_due_ = WallTime{};  // Due at once, even if the clock jumps back.
  if (result.moved > 0) may_hold_ = true;  // The cell that held them may have lacked a service.
  if (std::exchange(taking_over_.at(from).again, false) || may_have_left_some(result)) {
    take_over_some(from);
    return;
  }
  taking_over_.extract(from).mapped().answers.deliver(TakenOver{});
  if (taking_over_.empty()) release_holds();
  queue_.expect_more();
  refresh_lanes();
  dispatch(at);
  arm(at);
  const StoredBacklog leaving{key_, from.customer, from.product};
  if (releasing_.contains(leaving)) release_some(leaving);
}

}  // namespace cells
