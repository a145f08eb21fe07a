// A scheduling policy for CAF that wakes few threads.
//
// Waking a thread costs about as much as handling several messages. CAF's `sharing` policy wakes a
// thread for each actor that becomes ready; its `stealing` policy sleeps between polls. Here, an
// actor that becomes ready waits for a thread that is awake, and another thread is woken only if
// more actors wait than the awake ones can soon run. A request that passes through a chain of
// actors therefore stays on one thread. Go's and Tokio's schedulers limit wake-ups for the same
// reason. While none of these threads is awake, a thread that is awake for another reason can run
// the actors for a moment, so that a request to an idle daemon wakes none.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include <caf/actor_system.hpp>
#include <caf/policy/unprofiled.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduler/coordinator.hpp>

#include "src/alarm.hpp"

namespace celld {

/// The actors that are ready to run, and the threads that run them. Thread-safe.
class ReadyActors {
 public:
  /// How many ready actors may wait for each thread that is awake.
  static constexpr std::size_t waiting_max = 2;
  /// The same for a helper: a job makes up to four actors ready at a time.
  static constexpr std::size_t waiting_max_helper = 4;
  /// If actors wait while no thread has taken one for this long, another thread is woken, because
  /// the threads that are awake run slow handlers.
  static constexpr std::chrono::milliseconds patience{2};

  /// Adds an actor. `from_outside`: the caller is not a thread that runs actors, so another thread
  /// must take it.
  void add(caf::resumable* actor, bool from_outside);
  /// Counts the calling thread as one that runs actors.
  void join();
  /// Takes the actor that has waited for longest; waits for one.
  caf::resumable* take();
  /// The calling thread runs no more actors.
  void leave();
  /// Makes the calling thread a helper, unless a thread that runs actors is awake.
  bool help();
  /// For a helper: as take(), but returns null instead of waiting. Returns null, too, once another
  /// thread is awake, which then runs the ready actors.
  caf::resumable* take_if_alone();
  /// The calling thread, which was a helper, runs no more actors.
  void stop_helping();
  /// Takes all ready actors.
  std::deque<caf::resumable*> take_all();
  /// Threads that wait and have not been woken.
  std::size_t asleep();

 private:
  caf::resumable* take_first();
  void wake_if_needed(std::unique_lock<std::mutex>& lock, bool from_outside);
  void wake_one(std::unique_lock<std::mutex>& lock);
  void arm_timer();
  /// Called when the timer expires. Wakes a thread if no actor has been taken since the timer was
  /// set.
  void look_after();

  std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<caf::resumable*> ready_;
  std::size_t awake_ = 0;     ///< Threads that run an actor or are about to look for one.
  std::size_t asleep_ = 0;    ///< See asleep().
  std::size_t wake_ups_ = 0;  ///< That no thread has noticed yet.
  std::uint64_t taken_ = 0;   ///< Actors, so far.
  std::uint64_t taken_when_armed_ = 0;
  bool has_helper_ = false;                ///< One of the threads that are awake is a helper.
  bool armed_ = false;                     ///< The timer.
  Alarm timer_{[this] { look_after(); }};  ///< Last: ends before the members it uses.
};

/// How many times a helper resumes actors before it stops. A job passes through about ten.
constexpr int helper_runs_max = 64;

/// Calls `send`, which makes actors ready. If no thread of the scheduler is awake, the calling
/// thread then runs those actors and the actors that they make ready; the scheduler's threads run
/// what is left after `helper_runs_max` runs. The handlers should be brief, since the calling
/// thread has other work. With a scheduler other than FewWakeUps, this only calls `send`. Must
/// return before `system` is destroyed.
void help_actors(caf::actor_system& system, const std::function<void()>& send);

/// For caf::scheduler::coordinator, which documents what it calls and from which thread.
class FewWakeUps : public caf::policy::unprofiled {
 public:
  struct coordinator_data {
    explicit coordinator_data(caf::scheduler::abstract_coordinator*) {}
    ReadyActors ready;
  };
  struct worker_data {
    explicit worker_data(caf::scheduler::abstract_coordinator*) {}
    bool joined = false;
  };

  template <class Coordinator>
  void central_enqueue(Coordinator* coordinator, caf::resumable* actor) {
    coordinator->data().ready.add(actor, true);
  }
  template <class Worker>
  void external_enqueue(Worker* worker, caf::resumable* actor) {
    worker->parent()->data().ready.add(actor, true);
  }
  template <class Worker>
  void internal_enqueue(Worker* worker, caf::resumable* actor) {
    worker->parent()->data().ready.add(actor, false);
  }
  template <class Worker>
  void resume_job_later(Worker* worker, caf::resumable* actor) {
    worker->parent()->data().ready.add(actor, false);
  }
  template <class Worker>
  caf::resumable* dequeue(Worker* worker) {
    auto& ready = worker->parent()->data().ready;
    if (!std::exchange(worker->data().joined, true)) ready.join();
    return ready.take();
  }
  template <class Worker>
  void before_shutdown(Worker* worker) {
    worker->parent()->data().ready.leave();
  }
  template <class Worker, class Function>
  void foreach_resumable(Worker*, Function) {}
  template <class Coordinator, class Function>
  void foreach_central_resumable(Coordinator* coordinator, Function function) {
    for (auto* actor : coordinator->data().ready.take_all()) function(actor);
  }
};

}  // namespace celld
