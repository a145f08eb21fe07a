// An engine and a store that a test plays by hand: each message is answered by a function of the
// test, on the actor's thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "cells/actors/protocol.hpp"

namespace celld::api::testing {

/// What the fake answers; null functions answer with an error, as a store that failed.
struct Script {
  std::function<cells::JobSubmitted(const cells::SubmitJob&)> submit;
  /// Called after the answer to a submission was sent; what it returns is told to the observer.
  std::function<std::vector<cells::JobPtr>(const cells::JobPtr&)> after_submit;
  std::function<cells::CancelAnswered(const cells::CancelJob&)> cancel;
  std::function<cells::ReopenAnswered(const cells::ReopenJob&)> retry;
  std::function<cells::CellDescribed(const cells::DescribeCell&)> describe;
  std::function<cells::CellsListed(const cells::ListCells&)> list;
  std::function<cells::CellDescribed(const cells::ResizePool&)> resize;
  std::function<cells::CellDescribed(const cells::ChangeCellState&)> change_state;
  std::function<cells::ServicesListed(const cells::ListServices&)> list_services;
  std::function<cells::JobFound(const cells::FindJob&)> find;
  std::function<cells::JobsListed(const cells::ListJobs&)> list_jobs;
  std::function<cells::OldestQueued(const cells::FindOldestQueued&)> oldest;
  cells::JobObserver observer;
};

/// Held while a function of a script runs. Who takes and leaves it sees what they did, and is seen
/// by them: an answer that came through a socket alone says nothing about memory.
inline std::mutex stage;
inline void meet_on_stage() {
  const std::lock_guard lock{stage};
}

cells::CellDispatcher spawn_dispatcher(caf::actor_system& system, std::shared_ptr<Script> script);
cells::JobReader spawn_reader(caf::actor_system& system, std::shared_ptr<Script> script);

}  // namespace celld::api::testing
