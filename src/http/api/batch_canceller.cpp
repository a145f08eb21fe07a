#include "src/http/api/batch_canceller.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include "cells/model/job_machine.hpp"

namespace celld::api {
namespace {

using cells::BatchId;
using cells::JobPtr;

constexpr std::chrono::milliseconds pause{1000};

/// Goes through the jobs of the batch at the front, newest first. A job that moves to another cell
/// meanwhile may escape. The actor then goes through the batch again, until no job has escaped.
class BatchCancellerActor final : public BatchCanceller::base {
 public:
  BatchCancellerActor(caf::actor_config& config, ServeBatches engine, const BatchLimits& limits)
      : BatchCanceller::base(config), engine_(std::move(engine)), limits_(limits) {}

  behavior_type make_behavior() override {
    return {
        [this](const CancelJobsOf& order) {
          const auto found = std::find(waiting_.begin(), waiting_.end(), order.id);
          if (found == waiting_.end()) {
            waiting_.push_back(order.id);
            if (waiting_.size() == 1) begin();
          } else if (found == waiting_.begin()) {
            // A job that this pass has left behind may have been reopened since.
            has_escaped_ = true;
          }
        },
        [this](const BatchTick&) { begin(); },
    };
  }

  void on_exit() override { engine_ = {}; }

 private:
  void begin() {
    before_ = 0;
    has_escaped_ = false;
    if (!waiting_.empty()) step();
  }

  void step() {
    cells::ListJobs list;
    list.filter.batch = waiting_.front();
    list.filter.unfinished = true;
    list.before = before_;
    list.limit = limits_.cancelled_jobs;
    list.bytes_max = limits_.cancelled_bytes;
    request(engine_.reader, caf::infinite, std::move(list))
        .then([this](const cells::JobsListed& page) { cancel(page); },
              [this](const caf::error&) { try_again_later(); });
  }

  void cancel(const cells::JobsListed& page) {
    before_ = page.next;
    under_way_ = 1;
    for (const JobPtr& job : page.jobs) {
      if (job->cancel_requested || !cells::can_cancel(*job)) continue;
      ++under_way_;
      request(engine_.dispatcher, caf::infinite, cells::CancelJob{job})
          .then(
              [this](const cells::CancelAnswered& answer) {
                const auto& now = answer.job;
                if (!answer.accepted && now && cells::can_cancel(*now)) has_escaped_ = true;
                one_done();
              },
              [this](const caf::error&) {
                has_escaped_ = true;
                one_done();
              });
    }
    one_done();
  }

  void one_done() {
    if (--under_way_ > 0) return;
    if (before_ != 0) return step();
    if (has_escaped_) return try_again_later();
    request(engine_.store, caf::infinite, cells::MarkCancelled{waiting_.front(), false})
        .then([this](const cells::CancelledMarked&) { next(); },
              [](const caf::error&) {});  // celld is about to end.
  }

  void next() {
    if (has_escaped_) return mark_again();
    waiting_.pop_front();
    begin();
  }

  /// The batch was cancelled again while the store noted that no job was left to cancel.
  void mark_again() {
    request(engine_.store, caf::infinite, cells::MarkCancelled{waiting_.front(), true})
        .then([this](const cells::CancelledMarked&) { begin(); },
              [](const caf::error&) {});  // celld is about to end.
  }

  /// The other batches have their turns first.
  void try_again_later() {
    std::rotate(waiting_.begin(), waiting_.begin() + 1, waiting_.end());
    delayed_send(this, pause, BatchTick{});
  }

  ServeBatches engine_;
  const BatchLimits limits_;
  std::deque<BatchId> waiting_;  ///< The one at the front is being cancelled.
  cells::JobId before_ = 0;      ///< 0: from the newest job, or the last page has been read.
  std::size_t under_way_ = 0;
  bool has_escaped_ = false;  ///< Another pass is needed.
};

}  // namespace

BatchCanceller spawn_batch_canceller(caf::actor_system& system, const ServeBatches& engine,
                                     const BatchLimits& limits) {
  return system.spawn<BatchCancellerActor>(engine, limits);
}

}  // namespace celld::api
