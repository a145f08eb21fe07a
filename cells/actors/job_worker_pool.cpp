#include "cells/actors/job_worker_pool.hpp"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cells/actors/job_worker.hpp"
#include "cells/actors/owed_answers.hpp"
#include "cells/model/pool_plan.hpp"

namespace cells {
namespace {

/// Tells workers apart by the identity of their actors, never by a name or a position. Does not
/// know what they do.
class JobWorkerPoolActor : public JobWorkerPool::base {
 public:
  JobWorkerPoolActor(caf::actor_config& config, ContextPtr context, CellKey cell,
                     JobDispatcher dispatcher)
      : JobWorkerPool::base(config),
        context_(std::move(context)),
        cell_(std::move(cell)),
        dispatcher_(std::move(dispatcher)) {
    set_down_handler([this](caf::down_msg& down) { worker_down(down.source.id()); });
  }

  behavior_type make_behavior() override {
    context_->options.probe->spawned("pool", cell_, caf::actor_cast<caf::actor>(this));
    return {
        [this](const Resize& message) {
          resize(message.target);
          return Resized{};
        },
        [this](const GracefulStop&) -> caf::result<Stopped> {
          resize(0);
          auto promise = stopped_.add(make_response_promise<Stopped>());
          answer_when_empty();
          return promise;
        },
        [this](const KillWorkers&) -> caf::result<WorkersKilled> {
          target_ = 0;
          for (const auto& [id, worker] : workers_) send_exit(worker, caf::exit_reason::kill);
          auto promise = killed_.add(make_response_promise<WorkersKilled>());
          answer_when_empty();
          return promise;
        },
    };
  }

  void on_exit() override {
    for (const auto& [id, worker] : workers_) caf::anon_send_exit(worker, caf::exit_reason::kill);
    workers_.clear();
    stopped_.fail();
    killed_.fail();
    dispatcher_ = nullptr;
    context_ = nullptr;
  }

 private:
  PoolHeadcount headcount() const {
    const auto retiring = static_cast<std::uint32_t>(retiring_.size());
    return {target_, static_cast<std::uint32_t>(workers_.size()) - retiring, retiring};
  }

  void resize(std::uint32_t target) {
    target_ = target;
    fill();
    retire_surplus();
  }

  void fill() {
    for (std::uint32_t n = workers_to_spawn(headcount()); n > 0; --n) {
      const JobWorker worker = spawn_job_worker(system(), context_, cell_, dispatcher_);
      monitor(worker);
      workers_.emplace(worker->id(), worker);
    }
  }

  /// The dispatcher names idle workers, which get no further job; they retire first.
  void retire_surplus() {
    const std::uint32_t surplus = workers_to_retire(headcount());
    if (surplus == 0 || withdrawing_) return;
    withdrawing_ = true;
    request(dispatcher_, caf::infinite, WithdrawIdle{surplus})
        .then([this, surplus](const IdleWithdrawn& idle) { withdrawn(idle, surplus); },
              [this](const caf::error&) { withdrawn({}, 1); });
  }

  /// The target may have changed meanwhile, in either direction.
  void withdrawn(const IdleWithdrawn& idle, std::uint32_t asked) {
    withdrawing_ = false;
    for (const auto& worker : idle.workers) retire(worker);
    if (idle.workers.size() < asked) {
      retire_newest(workers_to_retire(headcount()));
    } else {
      retire_surplus();
    }
    fill();
  }

  void retire_newest(std::uint32_t count) {
    std::vector<JobWorker> chosen;
    for (auto it = workers_.rbegin(); it != workers_.rend() && chosen.size() < count; ++it) {
      if (!retiring_.contains(it->first)) chosen.push_back(it->second);
    }
    for (const auto& worker : chosen) retire(worker);
  }

  void retire(const JobWorker& worker) {
    if (workers_.contains(worker->id()) && retiring_.insert(worker->id()).second) {
      send(worker, GracefulStop{});
    }
  }

  /// The worker has left or died; either way, a missing worker is replaced.
  void worker_down(caf::actor_id id) {
    workers_.erase(id);
    retiring_.erase(id);
    fill();
    answer_when_empty();
  }

  void answer_when_empty() {
    if (!workers_.empty()) return;
    stopped_.deliver(Stopped{});
    killed_.deliver(WorkersKilled{});
  }

  ContextPtr context_;
  CellKey cell_;
  JobDispatcher dispatcher_;
  std::uint32_t target_ = 0;
  std::map<caf::actor_id, JobWorker> workers_;  ///< All that are alive, the oldest first.
  std::set<caf::actor_id> retiring_;            ///< Those that were sent GracefulStop.
  bool withdrawing_ = false;                    ///< A WithdrawIdle is unanswered.
  OwedAnswers<Stopped> stopped_;
  OwedAnswers<WorkersKilled> killed_;
};

}  // namespace

JobWorkerPool spawn_job_worker_pool(caf::actor_system& system, ContextPtr context, CellKey cell,
                                    JobDispatcher dispatcher) {
  return system.spawn<JobWorkerPoolActor>(std::move(context), std::move(cell),
                                          std::move(dispatcher));
}

}  // namespace cells
