// An engine and a store that a test scripts: a function of the test answers each message, on the
// actor's thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "cells/actors/protocol.hpp"
#include "src/http/api/batch_desk.hpp"

namespace celld::api::testing {

/// The fake's answers. A null function answers with an error, as a failed store does.
struct Script {
  std::function<cells::JobSubmitted(const cells::SubmitJob&)> submit;
  /// Called after the answer to a submission; the observer is notified of the jobs it returns.
  std::function<std::vector<cells::JobPtr>(const cells::JobPtr&)> after_submit;
  std::function<cells::CancelAnswered(const cells::CancelJob&)> cancel;
  std::function<cells::ReopenAnswered(const cells::ReopenJob&)> retry;
  std::function<cells::CellDescribed(const cells::DescribeCell&)> describe;
  std::function<cells::CellsListed(const cells::ListCells&)> list;
  std::function<cells::CellDescribed(const cells::ResizePool&)> resize;
  std::function<cells::CellDescribed(const cells::ChangeCellState&)> change_state;
  std::function<cells::CellDescribed(const cells::ChangeQuota&)> change_quota;
  std::function<cells::ServicesListed(const cells::ListServices&)> list_services;
  std::function<cells::ServicesListed(const cells::ResetService&)> reset_service;
  std::function<cells::LeasesGranted(const cells::RequestLeases&)> request_leases;
  std::function<cells::LeaseExtended(const cells::ExtendLease&)> extend_lease;
  std::function<cells::LeaseEnded(const cells::EndLease&)> end_lease;
  std::function<cells::LeaseFound(const cells::FindLease&)> find_lease;
  std::function<cells::LeasesListed(const cells::ListLeases&)> list_leases;
  bool holds_leases = false;  ///< Requests for leases wait, whether they ask for it or not.
  std::vector<std::uint64_t> withdrawn;  ///< Requests for leases.
  std::vector<cells::Lease> returned;
  std::function<cells::JobFound(const cells::FindJob&)> find;
  std::function<cells::JobsListed(const cells::ListJobs&)> list_jobs;
  std::function<cells::OldestQueued(const cells::FindOldestQueued&)> oldest;
  std::function<cells::BatchFound(const cells::FindBatch&)> find_batch;
  std::function<cells::BatchesListed(const cells::ListBatches&)> list_batches;
  std::function<cells::BatchOpened(const cells::OpenBatch&)> open_batch;
  std::function<cells::BatchClosed(const cells::CloseBatch&)> close_batch;
  std::function<cells::CancelledMarked(const cells::MarkCancelled&)> mark_cancelled;
  cells::JobObserver observer;
};

/// Held while a function of a script runs.
inline std::mutex script_mutex;
/// Orders the test's memory accesses with those of the script functions, which an answer over a
/// socket does not.
inline void sync_with_script() {
  const std::lock_guard lock{script_mutex};
}

cells::CellDispatcher spawn_dispatcher(caf::actor_system& system, std::shared_ptr<Script> script);
cells::JobReader spawn_reader(caf::actor_system& system, std::shared_ptr<Script> script);
BatchStore spawn_batch_store(caf::actor_system& system, std::shared_ptr<Script> script);

}  // namespace celld::api::testing
