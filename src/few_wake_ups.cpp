#include "src/few_wake_ups.hpp"

#include <caf/execution_unit.hpp>

namespace celld {
namespace {

/// Whether the calling thread is a helper: it runs actors, but does not belong to the scheduler.
thread_local bool is_helper = false;

/// A helper, as an execution unit of CAF.
class Helper : public caf::execution_unit {
 public:
  Helper(caf::actor_system& system, ReadyActors& ready)
      : caf::execution_unit(&system), ready_(ready) {
    is_helper = true;
  }
  ~Helper() override {
    is_helper = false;
    ready_.stop_helping();
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  void exec_later(caf::resumable* actor) override { ready_.add(actor, false); }

  void run_actors() {
    const auto messages_max = system().scheduler().max_throughput();
    for (int run = 0; run < helper_runs_max; ++run) {
      auto* actor = ready_.take_if_alone();
      if (actor == nullptr) return;
      if (actor->resume(this, messages_max) == caf::resumable::resume_later) {
        ready_.add(actor, false);
      } else {
        caf::intrusive_ptr_release(actor);
      }
    }
  }

 private:
  ReadyActors& ready_;
};

}  // namespace

void ReadyActors::add(caf::resumable* actor, bool from_outside) {
  std::unique_lock lock{mutex_};
  ready_.push_back(actor);
  wake_if_needed(lock, from_outside && !is_helper);
}

void ReadyActors::join() {
  const std::lock_guard lock{mutex_};
  ++awake_;
}

caf::resumable* ReadyActors::take() {
  std::unique_lock lock{mutex_};
  while (ready_.empty()) {
    --awake_;
    ++asleep_;
    woken_.wait(lock, [&] { return wake_ups_ > 0; });
    --wake_ups_;
  }
  return take_first();
}

/// Other threads run the actors that became ready while this thread was awake.
void ReadyActors::leave() {
  std::unique_lock lock{mutex_};
  --awake_;
  wake_if_needed(lock, true);
}

bool ReadyActors::help() {
  const std::lock_guard lock{mutex_};
  if (awake_ > 0) return false;
  ++awake_;
  has_helper_ = true;
  return true;
}

caf::resumable* ReadyActors::take_if_alone() {
  const std::lock_guard lock{mutex_};
  return awake_ > 1 || ready_.empty() ? nullptr : take_first();
}

void ReadyActors::stop_helping() {
  {
    const std::lock_guard lock{mutex_};
    has_helper_ = false;
  }
  leave();
}

caf::resumable* ReadyActors::take_first() {
  ++taken_;
  auto* actor = ready_.front();
  ready_.pop_front();
  return actor;
}

std::deque<caf::resumable*> ReadyActors::take_all() {
  const std::lock_guard lock{mutex_};
  return std::exchange(ready_, {});
}

std::size_t ReadyActors::asleep() {
  const std::lock_guard lock{mutex_};
  return asleep_;
}

void ReadyActors::wake_if_needed(std::unique_lock<std::mutex>& lock, bool from_outside) {
  if (asleep_ == 0 || ready_.empty()) return;
  // A helper runs what its own work leads to; what others add may take longer.
  const bool only_helper = has_helper_ && awake_ == 1;
  const auto most = only_helper ? waiting_max_helper : waiting_max * awake_;
  if (ready_.size() > most || (only_helper && from_outside)) {
    wake_one(lock);
  } else if (from_outside && !armed_) {
    arm_timer();
  }
}

void ReadyActors::wake_one(std::unique_lock<std::mutex>& lock) {
  --asleep_;
  ++awake_;
  ++wake_ups_;
  lock.unlock();
  woken_.notify_one();
}

void ReadyActors::arm_timer() {
  armed_ = true;
  taken_when_armed_ = taken_;
  timer_.set(patience);
}

void ReadyActors::look_after() {
  std::unique_lock lock{mutex_};
  armed_ = false;
  if (ready_.empty() || asleep_ == 0) return;
  const bool stuck = taken_ == taken_when_armed_;
  arm_timer();
  if (stuck) wake_one(lock);
}

void help_actors(caf::actor_system& system, const std::function<void()>& send) {
  using Coordinator = caf::scheduler::coordinator<FewWakeUps>;
  auto* coordinator = dynamic_cast<Coordinator*>(&system.scheduler());
  if (!coordinator || is_helper || !coordinator->data().ready.help()) return send();
  Helper thread{system, coordinator->data().ready};
  send();
  thread.run_actors();
}

}  // namespace celld
