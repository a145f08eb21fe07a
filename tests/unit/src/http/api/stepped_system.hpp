// Tests of single actors of the API without real time.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <utility>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

namespace celld::api::testing {

/// An actor system whose actors run, and whose time passes, only on request. Its scheduler has no
/// lock: no other thread may send to its actors.
class SteppedSystem {
 public:
  SteppedSystem()
      : system_(config_.set("scheduler.policy", caf::atom("testing"))),
        scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())) {}
  ~SteppedSystem() { scheduler_.clock().cancel_all(); }
  SteppedSystem(const SteppedSystem&) = delete;
  SteppedSystem& operator=(const SteppedSystem&) = delete;

  caf::actor_system& system() { return system_; }
  /// Runs the actors until no message is left. Returns how many messages they had.
  std::size_t take_messages() { return scheduler_.run(); }
  /// Only lets time pass; also while an actor handles a message.
  void skip(std::chrono::milliseconds time) { scheduler_.clock().advance_time(time); }
  std::size_t pass(std::chrono::milliseconds time) {
    scheduler_.advance_time(time);
    return take_messages();
  }
  /// Calls `then` once: as soon as the next message has been sent to an actor without any, on the
  /// thread that has sent it.
  void after_next_message(std::function<void()> then) {
    scheduler_.after_next_enqueue(std::move(then));
  }
  bool has_timer() { return scheduler_.clock().has_pending_timeout(); }
  /// Each of them must have ended before the system is destroyed.
  void end(std::initializer_list<caf::actor> actors) {
    for (const auto& actor : actors) caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    take_messages();
  }

 private:
  caf::actor_system_config config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
};

}  // namespace celld::api::testing
