// A scheduling policy for CAF that wakes few threads.
//
// Waking a thread costs about as much as handling several messages. CAF's `sharing` policy wakes a
// thread for each actor that becomes ready; its `stealing` policy sleeps between polls. Here, an
// actor that becomes ready waits for a thread that is awake, and another thread is woken only if
// more actors wait than the awake ones can soon run. A request that passes through a chain of
// actors therefore stays on one thread. Go's and Tokio's schedulers limit wake-ups for the same
// reason.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>

#include <caf/policy/unprofiled.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduler/coordinator.hpp>

namespace celld {

/// For caf::scheduler::coordinator, which documents what it calls and from which thread.
class FewWakeUps : public caf::policy::unprofiled {
 public:
  struct coordinator_data {
    explicit coordinator_data(caf::scheduler::abstract_coordinator*) {}

    std::mutex mutex;
    std::condition_variable woken;
    std::deque<caf::resumable*> ready;
    std::size_t awake = 0;     ///< Threads that run an actor or are about to look for one.
    std::size_t asleep = 0;    ///< Threads that wait and have not been woken.
    std::size_t wake_ups = 0;  ///< Of which no thread has taken notice yet.
  };

  struct worker_data {
    explicit worker_data(caf::scheduler::abstract_coordinator*) {}

    bool counted = false;
  };

  template <class Coordinator>
  void central_enqueue(Coordinator* coordinator, caf::resumable* actor) {
    enqueue(coordinator->data(), actor);
  }
  template <class Worker>
  void external_enqueue(Worker* worker, caf::resumable* actor) {
    enqueue(worker->parent()->data(), actor);
  }
  template <class Worker>
  void internal_enqueue(Worker* worker, caf::resumable* actor) {
    enqueue(worker->parent()->data(), actor);
  }
  template <class Worker>
  void resume_job_later(Worker* worker, caf::resumable* actor) {
    enqueue(worker->parent()->data(), actor);
  }

  template <class Worker>
  caf::resumable* dequeue(Worker* worker) {
    auto& shared = worker->parent()->data();
    std::unique_lock lock{shared.mutex};
    if (!std::exchange(worker->data().counted, true)) ++shared.awake;
    while (shared.ready.empty()) {
      --shared.awake;
      ++shared.asleep;
      shared.woken.wait(lock, [&] { return shared.wake_ups > 0; });
      --shared.wake_ups;
    }
    auto* actor = shared.ready.front();
    shared.ready.pop_front();
    return actor;
  }

  /// What became ready while this thread was still awake is left to the others.
  template <class Worker>
  void before_shutdown(Worker* worker) {
    auto& shared = worker->parent()->data();
    std::unique_lock lock{shared.mutex};
    --shared.awake;
    wake_if_needed(shared, lock);
  }

  template <class Worker, class Function>
  void foreach_resumable(Worker*, Function) {}

  template <class Coordinator, class Function>
  void foreach_central_resumable(Coordinator* coordinator, Function function) {
    std::deque<caf::resumable*> left;
    {
      const std::lock_guard lock{coordinator->data().mutex};
      left.swap(coordinator->data().ready);
    }
    for (auto* actor : left) function(actor);
  }

 private:
  /// How many ready actors may wait for each thread that is awake.
  static constexpr std::size_t waiting_max = 2;

  static void enqueue(coordinator_data& shared, caf::resumable* actor) {
    std::unique_lock lock{shared.mutex};
    shared.ready.push_back(actor);
    wake_if_needed(shared, lock);
  }

  static void wake_if_needed(coordinator_data& shared, std::unique_lock<std::mutex>& lock) {
    if (shared.asleep == 0 || shared.ready.size() <= waiting_max * shared.awake) return;
    --shared.asleep;
    ++shared.awake;
    ++shared.wake_ups;
    lock.unlock();
    shared.woken.notify_one();
  }
};

}  // namespace celld
