#include "cells/actors/job_worker.hpp"

#include <utility>

namespace cells {
namespace {

constexpr milliseconds abort_retry_delay{10};

/// Owns at most one attempt; knows nothing of queues, settings or retries.
class JobWorkerActor : public JobWorker::base {
 public:
  JobWorkerActor(caf::actor_config& config, ContextPtr context, CellKey cell,
                 JobDispatcher dispatcher)
      : JobWorker::base(config),
        context_(std::move(context)),
        cell_(std::move(cell)),
        dispatcher_(std::move(dispatcher)) {}

  behavior_type make_behavior() override {
    context_->options.probe->spawned("worker", cell_, caf::actor_cast<caf::actor>(this));
    announce();
    return {
        [this](RunJob& message) { run(message); },
        [this](const AbortWork& message) {
          if (lease_ == message.lease) abort_attempt();
        },
        [this](const GracefulStop&) {
          retiring_ = true;
          send(dispatcher_, WithdrawReady{this});
        },
        [this](const ReadyWithdrawn&) {
          withdrawn_ = true;
          leave_if_done();
        },
    };
  }

  void on_exit() override {
    dispatcher_ = nullptr;
    service_ = nullptr;
    context_ = nullptr;
  }

 private:
  void announce() { send(dispatcher_, ReadyForJob{this}); }

  void run(RunJob& message) {
    lease_ = message.lease;
    service_ = std::move(message.service);
    StartCall call{lease_, std::move(message.job), message.timeout};
    if (message.after_commit) {
      call_after_commit(std::move(call));
    } else {
      begin(std::move(call));
    }
  }

  /// The dispatcher sent the claim before the job, so that this flush includes the claim.
  void call_after_commit(StartCall call) {
    request(context_->options.store, caf::infinite, FlushStore{})
        .then(
            [this, call = std::move(call)](const StoreFlushed&) {
              if (lease_ == call.lease) begin(call);
            },
            [this, lease = lease_](const caf::error&) { complete(lease, aborted()); });
  }

  void begin(StartCall call) {
    begun_ = true;
    send(dispatcher_, JobWorkStarted{lease_, read_clocks(*this, *context_).steady});
    request(service_, caf::infinite, std::move(call))
        .then([this](CallEnded& ended) { complete(ended.lease, std::move(ended.outcome)); },
              [this, lease = lease_](const caf::error&) {
                if (lease_ == lease) abort();  // First ends what the dead service client left.
              });
  }

  void abort_attempt() {
    if (begun_) {
      abort();
    } else {
      complete(lease_, aborted());
    }
  }

  static CallOutcome aborted() {
    CallOutcome outcome;
    outcome.kind = CallOutcome::Kind::aborted;
    return outcome;
  }

  /// The StartCall is then answered `aborted`, unless the service client that owes the answer has
  /// died.
  void abort() {
    request(service_, caf::infinite, AbortCall{lease_})
        .then([this](const CallAborted& confirmed) { complete(confirmed.lease, aborted()); },
              [this, lease = lease_](const caf::error&) {
                if (lease_ == lease) delayed_send(this, abort_retry_delay, AbortWork{lease});
              });
  }

  /// Reports the first end of the attempt, and ignores a second.
  void complete(Lease lease, CallOutcome outcome) {
    if (lease_ != lease) return;
    lease_ = {};
    begun_ = false;
    service_ = nullptr;
    send(dispatcher_, JobWorkCompleted{lease, std::move(outcome)});
    if (retiring_) {
      leave_if_done();
    } else {
      announce();
    }
  }

  void leave_if_done() {
    if (retiring_ && withdrawn_ && !lease_) quit();
  }

  ContextPtr context_;
  CellKey cell_;
  JobDispatcher dispatcher_;
  Provider service_;
  Lease lease_;
  bool begun_ = false;  ///< The call has begun; until then it waits for the claim to be on disk.
  bool retiring_ = false;
  bool withdrawn_ = false;  ///< The dispatcher hands this worker no further job.
};

}  // namespace

JobWorker spawn_job_worker(caf::actor_system& system, ContextPtr context, CellKey cell,
                           JobDispatcher dispatcher) {
  return system.spawn<JobWorkerActor>(std::move(context), std::move(cell), std::move(dispatcher));
}

}  // namespace cells
