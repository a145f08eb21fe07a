#include "tests/simulation/actors.hpp"

#include <map>
#include <utility>

namespace simulation {
namespace {

using Promise = caf::typed_response_promise<CallEnded>;

class SimulatedProvider : public Provider::extend<caf::reacts_to<ProviderTick>>::base {
 public:
  using Base = Provider::extend<caf::reacts_to<ProviderTick>>::base;

  SimulatedProvider(caf::actor_config& config, std::shared_ptr<World> world, const bool* gentle)
      : Base(config), world_(std::move(world)), gentle_(gentle) {}

  behavior_type make_behavior() override {
    return {
        [this](const StartCall& call) -> caf::result<CallEnded> {
          world_->call_started(call, this);
          auto promise = make_response_promise<CallEnded>();
          const microseconds takes = duration(call.timeout);
          calls_.emplace(call.lease, promise);
          if (takes == microseconds{0}) {
            end(call.lease, outcome());
          } else {
            schedule(call.lease, world_->now_steady + takes);
          }
          return promise;
        },
        [this](const AbortCall& call) {
          CallOutcome aborted;
          aborted.kind = CallOutcome::Kind::aborted;
          end(call.lease, std::move(aborted));
          return CallAborted{call.lease};
        },
        [this](const ProviderTick& tick) { end_due(tick.at); },
    };
  }

  void on_exit() override {
    if (world_) world_->provider_died(this);
    for (auto& [lease, promise] : calls_) {
      promise.deliver(caf::make_error(caf::sec::request_receiver_down));
    }
    calls_.clear();
  }

 private:
  microseconds duration(milliseconds timeout) {
    Dice& dice = world_->dice;
    if (*gentle_) return milliseconds{dice.below(10)};
    if (dice.one_in(4)) return microseconds{0};
    if (dice.one_in(20)) return timeout * 1000;  // It hangs.
    return microseconds{dice.below(static_cast<std::uint64_t>(timeout.count()) * 1500)};
  }

  CallOutcome outcome() {
    CallOutcome result;
    result.kind = CallOutcome::Kind::succeeded;
    const std::uint64_t die = *gentle_ ? 0 : world_->dice.below(12);
    if (die == 7) result.kind = CallOutcome::Kind::rejected;
    if (die == 8 || die == 9) result.kind = CallOutcome::Kind::retryable;
    if (die == 10) result.kind = CallOutcome::Kind::throttled;
    if (die == 11) result.kind = CallOutcome::Kind::unknown;
    if (result.kind == CallOutcome::Kind::succeeded) {
      result.properties["result"] = "1";
    } else {
      result.code = "provider_error";
      result.message = "simulated";
      if (world_->dice.one_in(3)) result.retry_after = milliseconds{world_->dice.below(3000)};
    }
    return result;
  }

  void schedule(Lease lease, SteadyTime at) {
    due_.emplace(at, lease);
    delayed_send(this, std::max(at - world_->now_steady, microseconds{0}), ProviderTick{at});
  }

  void end_due(SteadyTime now) {
    while (!due_.empty() && due_.begin()->first <= now) {
      const Lease lease = due_.begin()->second;
      due_.erase(due_.begin());
      end(lease, outcome());
    }
  }

  void end(Lease lease, CallOutcome outcome) {
    const auto found = calls_.find(lease);
    if (found == calls_.end()) return;
    world_->call_ended(lease);
    Promise promise = found->second;
    calls_.erase(found);
    promise.deliver(CallEnded{lease, std::move(outcome)});
  }

  std::shared_ptr<World> world_;
  const bool* gentle_;
  std::map<Lease, Promise> calls_;
  std::multimap<SteadyTime, Lease> due_;
};

class Client : public caf::event_based_actor {
 public:
  Client(caf::actor_config& config, std::shared_ptr<World> world, CellDispatcher dispatcher,
         std::shared_ptr<ClientState> state)
      : event_based_actor(config),
        world_(std::move(world)),
        dispatcher_(std::move(dispatcher)),
        state_(std::move(state)) {}

  caf::behavior make_behavior() override {
    return {
        [this](ClientSubmit& message) { submit(std::move(message.request)); },
        [this](const ClientCancel& message) { cancel(message.job); },
        [this](const ClientRetry& message) { retry(message.job); },
        [this](const ClientResize& message) {
          change(message.cell, ResizePool{message.cell, message.size});
        },
        [this](const ClientChangeState& message) {
          change(message.cell, ChangeCellState{message.cell, message.state});
        },
        [this](const ClientReload& message) { reload(message.order); },
        [this](const ClientDrain& message) {
          request(dispatcher_, caf::infinite, Drain{message.grace}).then([this](const Drained&) {
            state_->drained = true;
          });
        },
    };
  }

  void on_exit() override { dispatcher_ = nullptr; }

 private:
  void submit(JobRequest job) {
    state_->submitted += 1;
    const auto idempotency = job.idempotency;
    request(dispatcher_, caf::infinite, SubmitJob{std::move(job)})
        .then(
            [this, idempotency](const JobSubmitted& answer) {
              if (answer.job) {
                world_->accepted(answer.job);
                if (idempotency) world_->accepted_under(*idempotency, *answer.job);
              } else {
                state_->refused += 1;
              }
            },
            [this](const caf::error&) { state_->failed += 1; });
  }

  void cancel(const JobPtr& job) {
    request(dispatcher_, caf::infinite, CancelJob{job})
        .then(
            [this](const CancelAnswered& answer) {
              if (answer.accepted) world_->cancel_accepted(*answer.job);
            },
            [](const caf::error&) {});
  }

  void retry(const JobPtr& job) {
    world_->retry_asked(job->id);
    request(dispatcher_, caf::infinite, RetryJob{job})
        .then([](const RetryAnswered&) {}, [](const caf::error&) {});
  }

  template <class Change>
  void change(const CellKey& cell, Change change) {
    world_->change_asked(cell);
    request(dispatcher_, caf::infinite, std::move(change))
        .then([this, cell](const CellDescribed&) { world_->change_answered(cell); },
              [this, cell](const caf::error&) { world_->change_answered(cell); });
  }

  void reload(const Reconfigure& order) {
    world_->reload_asked();
    request(dispatcher_, caf::infinite, order)
        .then(
            [this, order](const Reconfigured& answer) {
              state_->reloading = false;
              world_->reload_answered(order, answer.needed.empty());
              if (answer.needed.empty()) state_->reloaded = true;
            },
            [this](const caf::error&) { state_->reloading = false; });
  }

  std::shared_ptr<World> world_;
  CellDispatcher dispatcher_;
  std::shared_ptr<ClientState> state_;
};

}  // namespace

Provider spawn_provider(caf::actor_system& system, std::shared_ptr<World> world,
                        const bool* gentle) {
  return system.spawn<SimulatedProvider>(std::move(world), gentle);
}

caf::actor spawn_client(caf::actor_system& system, std::shared_ptr<World> world,
                        CellDispatcher dispatcher, std::shared_ptr<ClientState> state) {
  return system.spawn<Client>(std::move(world), std::move(dispatcher), std::move(state));
}

}  // namespace simulation
