// Group commit: how a store collects operations into commits. It is the same for every store; the
// store's backend knows what a commit is.
//
// The first operation of a group makes the actor send itself a CommitGroup, which lands behind
// everything that is in its mailbox by then. All of that is committed at once; then the actor sends
// all the answers. After any failure, the actor answers every request with an error: only a restart
// shows what a failed commit left on disk.
//
// The end of a job that is alone in its group may wait for a submission, and share its commit. A
// client that sends one job after the other sends the next one just when the last one ends: without
// this, each submission would wait for two syncs, the end's and its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "cells/ports/job_store.hpp"
#include "src/store/answers.hpp"
#include "src/store/job_rules.hpp"

namespace celld::store {

/// Commits the group of this number, unless it is committed already.
struct CommitGroup {
  std::uint64_t group = 0;
};

/// Commits the claims that no other commit has included.
struct CommitClaims {};

}  // namespace celld::store

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::CommitGroup)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::CommitClaims)

namespace celld::store {

/// The JobStore interface, with the store's messages to itself.
using CommittingStore =
    cells::JobStore::extend<caf::reacts_to<CommitGroup>, caf::reacts_to<CommitClaims>>;

/// Answers with what is committed.
using NeedsCounter =
    caf::typed_actor<caf::replies_to<cells::CountNeeds>::with<cells::NeedsCounted>>;

struct CommitOptions {
  std::size_t operations_max = 4096;  ///< A group of this size is committed at once.
  std::size_t bytes_max = 8 << 20;
  /// The backend sends the answers of a commit this small itself (`send` below). One job alone
  /// makes up to three operations: its claim, its end, and the submission that follows.
  std::size_t few_operations = 4;
  /// Claims, and ends after which a submission is expected, wait to share a later commit. If none
  /// comes, they get their own after one to two times this delay. Zero: both schedule a commit like
  /// any other write.
  cells::microseconds claim_delay{5000};
  /// How long a commit waits for more operations; called when the first one arrives. Zero, or no
  /// function: the commit takes only the operations that are in the mailbox by then.
  std::function<cells::microseconds()> commit_delay{};
};

/// What a store does for its GroupCommit, on that actor's thread. Any exception from `apply`,
/// `commit` or `tidy` ends the store.
///
///   apply(request)             The transition that the port describes at the request. Returns its
///                              answer, or none if the id of a new job is in use.
///   bool changed() const       Whether there is anything to commit besides claims.
///   size_t claims() const      The number of claims to commit.
///   commit(size_t operations)  Commits. Returns once everything is on disk.
///   send(answers)              Calls `answers`, which sends the answers of a small commit. May
///                              then run the actors that these wake, for a moment.
///   begin(self)                Called once, first, by the store itself.
///   remind(delay)              Sends the store a CommitClaims after the delay.
///   bool forget()              Cancels that CommitClaims; false if the backend cannot.
///   tidy()                     Work that may follow a commit, once its answers are sent.
///   counter(system)            A NeedsCounter, which sees what is committed by now.
///   failed(string reason)      Reports a failure, before anything is answered with an error.
template <class Backend>
class GroupCommit {
 public:
  using Pointer = CommittingStore::stateful_pointer<GroupCommit>;

  void start(Pointer self, std::shared_ptr<Backend> backend, CommitOptions options) {
    self_ = self;
    backend_ = std::move(backend);
    options_ = std::move(options);
    backend_->begin(self_);
  }

  /// Applies the request. The answer is sent once the result is on disk.
  template <class Answer, class Request>
  caf::typed_response_promise<Answer> perform(const Request& request, std::size_t bytes = 0) {
    note_arrival(request);
    auto promise = self_->template make_response_promise<Answer>();
    std::optional<Answer> answer;
    if (!guard([&] { answer = backend_->apply(request); })) {
      promise.deliver(*failure_);
    } else if (!answer) {
      promise.deliver(caf::make_error(caf::sec::invalid_argument, "the job id is in use"));
    } else {
      answers_.add(promise, std::move(*answer));
      finish_operation(bytes, ends_job(request));
    }
    return promise;
  }

  /// Applies a request that has no answer.
  template <class Request>
  void note(const Request& request, std::size_t bytes = 0) {
    note_arrival(request);
    if (guard([&] { backend_->apply(request); })) finish_operation(bytes, false);
  }

  /// Commits first, so that the counter sees all writes so far.
  caf::result<cells::NeedsCounted> count_needs(const cells::CountNeeds& request) {
    if (!failure_) commit();
    if (failure_) return *failure_;
    return self_->delegate(backend_->counter(self_->system()), request);
  }

  void commit_group(std::uint64_t group) {
    if (armed_ && group == group_) commit();
  }

  void commit_claims() {
    claims_armed_ = false;
    delayed_others_ = false;  // This message may be the one that waited.
    if (!has_changes()) return;
    if (claims_group_ != group_) return arm_claims();  // The changes came later.
    if (lone_end_) ends_wait_ = false;                 // No submission followed.
    commit();
  }

 private:
  /// Runs an operation that may fail. False: this one or an earlier one failed.
  template <class Operation>
  bool guard(Operation operation) {
    if (failure_) return false;
    try {
      operation();
      return true;
    } catch (const std::exception& failure) {  // Of any type: the operation may be half done.
      fail(failure.what());
      return false;
    }
  }

  void fail(const std::string& reason) {
    failure_ = caf::make_error(caf::sec::runtime_error, reason);
    // The reason goes first: an actor that receives an error ends, and its report needs the reason.
    backend_->failed(reason);
    answers_.fail_all(*failure_);
  }

  bool has_changes() const { return !failure_ && (backend_->changed() || backend_->claims() != 0); }

  template <class Request>
  static bool ends_job(const Request& request) {
    if constexpr (std::is_same_v<Request, cells::RecordJob>) {
      return cells::is_ended(request.job->state);
    } else {
      return false;
    }
  }

  /// Once a submission has had to wait for a commit that held only the end of a job, later lone
  /// ends wait for a submission.
  template <class Request>
  void note_arrival(const Request&) {
    const bool waited = std::exchange(delayed_others_, false);
    if (waited && std::is_same_v<Request, cells::InsertJob>) ends_wait_ = true;
  }

  /// Commits a full group, schedules a commit for other changes, and answers at once if there are
  /// none.
  void finish_operation(std::size_t bytes, bool ends_job) {
    ++operations_;
    bytes_ += bytes;
    const bool claims_wait = options_.claim_delay > cells::microseconds{0};
    if (operations_ >= options_.operations_max || bytes_ >= options_.bytes_max) {
      commit();
    } else if (backend_->changed() || (has_changes() && !claims_wait)) {
      lone_end_ = ends_job && !armed_ && !lone_end_;
      if (lone_end_ && ends_wait_ && claims_wait) {
        arm_claims();
      } else {
        arm_commit();
      }
    } else {
      answers_.deliver_all();
      if (has_changes()) return arm_claims();
      operations_ = 0;  // Only reads so far: they belong to no commit.
      bytes_ = 0;
    }
  }

  void arm_commit() {
    if (std::exchange(armed_, true)) return;
    const auto delay = options_.commit_delay ? options_.commit_delay() : cells::microseconds{0};
    if (delay > cells::microseconds{0}) {
      self_->delayed_send(self_, delay, CommitGroup{group_});
    } else {
      self_->send(self_, CommitGroup{group_});
    }
  }

  void arm_claims() {
    if (std::exchange(claims_armed_, true)) return;
    claims_group_ = group_;
    backend_->remind(options_.claim_delay);
  }

  void commit() {
    armed_ = false;
    ++group_;
    const auto operations = std::exchange(operations_, 0);
    bytes_ = 0;
    const bool was_lone_end = std::exchange(lone_end_, false);
    if (has_changes() && !guard([&] { backend_->commit(operations); })) return;
    delayed_others_ = was_lone_end && !self_->mailbox().empty();
    if (operations <= options_.few_operations) {
      if (claims_armed_ && backend_->forget()) claims_armed_ = false;
      backend_->send([this] { answers_.deliver_all(); });
    } else {
      answers_.deliver_all();
    }
    guard([&] { backend_->tidy(); });
  }

  Pointer self_ = nullptr;
  std::shared_ptr<Backend> backend_;
  CommitOptions options_;
  Answers answers_;
  std::optional<caf::error> failure_;
  std::uint64_t group_ = 1;
  std::size_t operations_ = 0;
  std::size_t bytes_ = 0;
  bool armed_ = false;              ///< A CommitGroup of this group is on its way.
  bool claims_armed_ = false;       ///< A CommitClaims is on its way.
  std::uint64_t claims_group_ = 0;  ///< The group in which it was sent.
  bool lone_end_ = false;   ///< All that has changed since the last commit is that a job ended.
  bool ends_wait_ = false;  ///< An end alone waits for a submission.
  bool delayed_others_ = false;  ///< Requests had to wait for the commit of an end alone.
};

/// The behaviour of a store with this backend.
template <class Backend>
CommittingStore::behavior_type group_commit(typename GroupCommit<Backend>::Pointer self,
                                            std::shared_ptr<Backend> backend,
                                            const CommitOptions& options) {
  using namespace cells;  // NOLINT: the rest is about the port's messages.
  auto& store = self->state;
  store.start(self, std::move(backend), options);
  return {
      // CAF tries the handlers in this order, so those that each job needs come first.
      [&store](const InsertJob& request) {
        return store.template perform<JobInserted>(request, approximate_bytes(*request.job));
      },
      [&store](const ClaimJob& request) { store.note(request, approximate_bytes(*request.job)); },
      [&store](const RecordJob& request) {
        return store.template perform<JobRecorded>(request, approximate_bytes(*request.job));
      },
      [&store](const FlushStore& request) { return store.template perform<StoreFlushed>(request); },
      [&store](CommitGroup due) { store.commit_group(due.group); },
      [&store](const FetchRunnable& request) {
        return store.template perform<RunnableFetched>(request);
      },
      [&store](const StartEpoch& request) { return store.template perform<EpochStarted>(request); },
      [&store](const LoadCells& request) { return store.template perform<CellsLoaded>(request); },
      [&store](const ListBacklogs& request) {
        return store.template perform<BacklogsListed>(request);
      },
      [&store](const MoveJobs& request) { return store.template perform<JobsMoved>(request); },
      [&store](const CountNeeds& request) { return store.count_needs(request); },
      [&store](const LoadCell& request) { return store.template perform<CellLoaded>(request); },
      [&store](const FindKeyHolder& request) { return store.template perform<KeyHolder>(request); },
      [&store](const CancelWaiting& request) {
        return store.template perform<WaitingCancelled>(request);
      },
      [&store](const ReopenEnded& request) {
        return store.template perform<EndedReopened>(request);
      },
      [&store](const HoldJob& request) { store.note(request); },
      [&store](const ReleaseHolds& request) {
        return store.template perform<HoldsReleased>(request);
      },
      [&store](const ChangeLane& request) { store.note(request); },
      [&store](const AdvanceDue& request) { return store.template perform<DueAdvanced>(request); },
      [&store](const PruneEnded& request) { return store.template perform<EndedPruned>(request); },
      [&store](const OpenBatch& request) { return store.template perform<BatchOpened>(request); },
      [&store](const CloseBatch& request) { return store.template perform<BatchClosed>(request); },
      [&store](const MarkCancelled& request) {
        return store.template perform<CancelledMarked>(request);
      },
      [&store](const NoteInMemory& request) {
        return store.template perform<InMemoryNoted>(request);
      },
      [&store](const LoadSchedules& request) {
        return store.template perform<SchedulesLoaded>(request);
      },
      [&store](const SaveSchedule& request) {
        return store.template perform<ScheduleSaved>(request, approximate_bytes(request.schedule));
      },
      [&store](const RemoveSchedule& request) {
        return store.template perform<ScheduleRemoved>(request);
      },
      [&store](const AdvanceSchedule& request) {
        return store.template perform<ScheduleAdvanced>(request);
      },
      [&store](const SetCellOverride& request) {
        return store.template perform<CellOverrideSet>(request);
      },
      [&store](CommitClaims) { store.commit_claims(); },
  };
}

}  // namespace celld::store
