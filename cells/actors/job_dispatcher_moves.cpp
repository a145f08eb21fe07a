// What goes to other cells and comes from them, after the configuration has changed.
//
// A job that changes its cell is moved twice: by the dispatcher that had it to `between_cells`, and
// from there by the one that is to have it. So each learns from an answer of the store, in order
// with all its other answers, by how many jobs its counts change, and neither must believe the
// other; whatever dies in between, the jobs stand in a place where they are looked for.
#include <utility>

#include "cells/actors/job_dispatcher_actor.hpp"

namespace cells {
namespace {

/// How many jobs are moved by one store operation.
constexpr std::size_t moved_batch_max = 1000;

}  // namespace

/// Jobs that were held may have been let go; what was held here since then has to be, before the
/// store is asked for more.
void JobDispatcherActor::change_terms(ChangeTerms& message) {
  terms_ = std::move(message.terms);
  if (std::exchange(held_, false)) send(store(), ReleaseHolds{});
  told_dry_ = false;
  queue_.expect_more();
  const Now at = now();
  dispatch(at);
  arm(at);
}

/// Whether jobs like this one are to run in this cell. Some are for no cell at all: they wait where
/// they are for a configuration that has one.
bool JobDispatcherActor::is_ours(const JobSpec& spec) const {
  if (is_leaving(spec)) return false;
  if (!terms_.routing) return true;
  const auto route = terms_.routing->find(spec.customer, spec.product);
  return route && route->cell == key_;
}

/// The store may have moved such jobs already: what is decided about them here, they would be
/// counted for twice.
bool JobDispatcherActor::is_leaving(const JobSpec& spec) const {
  return !releasing_.empty() && releasing_.contains({key_, spec.customer, spec.product});
}

// --- Letting go ----------------------------------------------------------------------------------

caf::result<JobsReleased> JobDispatcherActor::release(const ReleaseJobs& message) {
  const StoredBacklog backlog{key_, message.customer, message.product};
  const bool under_way = releasing_.contains(backlog);
  auto& move = releasing_[backlog];
  auto promise = move.answers.add(make_response_promise<JobsReleased>());
  if (under_way) {
    move.again = true;
  } else {
    release_some(backlog);
  }
  return promise;
}

void JobDispatcherActor::release_some(const StoredBacklog& backlog) {
  request(store(), caf::infinite, MoveJobs{backlog, between_cells, moved_batch_max, false})
      .then([this, backlog](const JobsMoved& result) { released_some(backlog, result); },
            [this](const caf::error& error) { quit(error); });
}

/// By now every answer has come that could have brought one of these jobs into the window.
void JobDispatcherActor::released_some(const StoredBacklog& backlog, const JobsMoved& result) {
  counts_ -= result.counts;
  if (std::exchange(releasing_.at(backlog).again, false) || result.moved == moved_batch_max) {
    release_some(backlog);
    return;
  }
  queue_.remove_all(backlog.customer, backlog.product);
  releasing_.extract(backlog).mapped().answers.deliver(JobsReleased{});
  arm(now());
}

/// An attempt here is over, and the job is to go on elsewhere, if there is a cell for it.
void JobDispatcherActor::hand_over(const Job& job) {
  if (!terms_.routing->find(job.spec->customer, job.spec->product)) return;
  const ReleaseJobs message{job.spec->customer, job.spec->product};
  request(caf::actor_cast<JobDispatcher>(this), caf::infinite, message)
      .then([this, message](const JobsReleased&) {
        send(cell_, JobsLeft{message.customer, message.product});
      });
}

void JobDispatcherActor::left(const Job& job) {
  send(cell_, JobsLeft{job.spec->customer, job.spec->product});
}

// --- Taking over ---------------------------------------------------------------------------------

caf::result<TakenOver> JobDispatcherActor::take_over(const StoredBacklog& from) {
  const bool under_way = taking_over_.contains(from);
  auto& move = taking_over_[from];
  auto promise = move.answers.add(make_response_promise<TakenOver>());
  if (under_way) {
    move.again = true;
  } else {
    take_over_some(from);
  }
  return promise;
}

void JobDispatcherActor::take_over_some(const StoredBacklog& from) {
  request(store(), caf::infinite, MoveJobs{from, key_, moved_batch_max, true})
      .then([this, from](const JobsMoved& result) { took_over_some(from, result); },
            [this](const caf::error& error) { quit(error); });
}

/// Some may be due: the store tells when it is asked to advance.
void JobDispatcherActor::took_over_some(const StoredBacklog& from, const JobsMoved& result) {
  counts_ += result.counts;
  const Now at = now();
  if (result.moved > 0) next_due_ = WallTime{};  // At once, wherever the clock is by then.
  if (std::exchange(taking_over_.at(from).again, false) || result.moved == moved_batch_max) {
    take_over_some(from);
    return;
  }
  taking_over_.extract(from).mapped().answers.deliver(TakenOver{});
  queue_.expect_more();
  dispatch(at);
  arm(at);
}

}  // namespace cells
