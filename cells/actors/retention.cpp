#include "cells/actors/retention.hpp"

#include <utility>

#include "cells/model/retention.hpp"

namespace cells {
namespace {

class RetentionActor final : public Retention::base {
 public:
  RetentionActor(caf::actor_config& config, RetentionOptions options)
      : Retention::base(config), options_(std::move(options)), pace_(options_.step_jobs) {}

  behavior_type make_behavior() override {
    step();
    return {
        [this](const KeepEnded& message) {
          options_.keep = message.keep;
          if (!asking_) step();
        },
        [this](const Tick& tick) {
          if (!asking_ && tick.at == armed_) step();
        },
    };
  }

  void on_exit() override { options_.store = nullptr; }

 private:
  void step() {
    asking_ = true;
    const SteadyTime asked = now();
    const WallTime before = options_.wall_clock() - options_.keep;
    request(options_.store, caf::infinite,
            PruneEnded{before, pace_.step_jobs(), options_.step_time_max})
        .then([this, asked,
               before](const EndedPruned& pruned) { step_ended(now() - asked, before, pruned); },
              [this](caf::error& error) { quit(std::move(error)); });
  }

  void step_ended(microseconds took, WallTime before, const EndedPruned& pruned) {
    asking_ = false;
    if (pruned.more) {
      arm(pace_.pause_after(took, before - pruned.reached));
    } else {
      pace_.caught_up();
      arm(pause_between_looks(options_.keep));
    }
  }

  SteadyTime now() {
    return SteadyTime{std::chrono::duration_cast<microseconds>(clock().now().time_since_epoch())};
  }

  void arm(microseconds pause) {
    armed_ = now() + pause;
    delayed_send(this, pause, Tick{armed_});
  }

  RetentionOptions options_;
  PrunePace pace_;
  bool asking_ = false;  ///< A PruneEnded is unanswered.
  SteadyTime armed_{};
};

}  // namespace

Retention spawn_retention(caf::actor_system& system, RetentionOptions options) {
  return system.spawn<RetentionActor>(std::move(options));
}

}  // namespace cells
