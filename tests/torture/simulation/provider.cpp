#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tests/torture/simulation/actors.hpp"

namespace simulation {
namespace {

/// Fits into the 100 ms of promise P8 together with two starvations (starved_time_max): one actor
/// may be late to see that a call has begun, and another that it has to end.
constexpr std::uint64_t abort_us_max = 10'000;
constexpr std::size_t garbage_bytes = 300 << 10;  ///< More than a job may hold.

/// Ends calls at their due times. It identifies them by their leases.
class SimulatedProvider : public Provider::extend<caf::reacts_to<ProviderTick>>::base {
 public:
  using Base = Provider::extend<caf::reacts_to<ProviderTick>>::base;

  SimulatedProvider(caf::actor_config& config, std::shared_ptr<World> world, std::string service)
      : Base(config), world_(std::move(world)), service_(std::move(service)) {}

  behavior_type make_behavior() override {
    return {
        [this](const StartCall& call) { return start(call); },
        [this](const AbortCall& call) { return abort(call.lease); },
        [this](const ProviderTick& tick) { end_due(tick.at); },
    };
  }

  void on_exit() override {
    if (world_) world_->provider_ended(id());
    for (auto& [lease, asked] : orphan_waiters_) {
      asked.deliver(caf::make_error(caf::sec::request_receiver_down));
    }
    for (auto& [lease, call] : calls_) {
      call.started.deliver(caf::make_error(caf::sec::request_receiver_down));
      for (auto& asked : call.aborting) {
        asked.deliver(caf::make_error(caf::sec::request_receiver_down));
      }
    }
    calls_.clear();
    orphan_waiters_.clear();
  }

 private:
  struct Call {
    caf::typed_response_promise<CallEnded> started;
    std::vector<caf::typed_response_promise<CallAborted>> aborting;
  };
  struct Due {
    Lease lease;
    bool abort = false;
  };

  Dice& dice() { return world_->dice; }

  // --- Calls -----------------------------------------------------------------------------------

  caf::result<CallEnded> start(const StartCall& call) {
    world_->call_started(call, service_, id());
    auto promise = make_response_promise<CallEnded>();
    const microseconds takes = duration(call);
    calls_.emplace(call.lease, Call{promise, {}});
    if (takes == microseconds{0}) {
      end(call.lease, outcome());
    } else {
      schedule({call.lease, false}, takes);
    }
    return promise;
  }

  caf::result<CallAborted> abort(Lease lease) {
    const auto found = calls_.find(lease);
    if (found == calls_.end()) return await_orphan(lease);
    if (!world_->may(Fault::slow_abort) || dice().one_in(2)) {
      end(lease, aborted());
      return CallAborted{lease};
    }
    auto promise = make_response_promise<CallAborted>();
    found->second.aborting.push_back(promise);
    schedule({lease, true}, microseconds{dice().below(abort_us_max)});
    return promise;
  }

  /// Confirms the end of a call that a previous provider may have left behind, once it is over.
  caf::result<CallAborted> await_orphan(Lease lease) {
    const auto gone_at = world_->orphaned_until(lease);
    if (!gone_at) return CallAborted{lease};
    auto promise = make_response_promise<CallAborted>();
    orphan_waiters_.emplace(lease, promise);
    schedule({lease, true}, std::max(*gone_at - world_->now_steady, microseconds{0}));
    return promise;
  }

  void schedule(Due due, microseconds in) {
    const SteadyTime at = world_->now_steady + in;
    due_.emplace(at, due);
    delayed_send(this, in, ProviderTick{at});
  }

  void end_due(SteadyTime now) {
    while (!due_.empty() && due_.begin()->first <= now) {
      const Due due = due_.begin()->second;
      due_.erase(due_.begin());
      if (calls_.contains(due.lease)) end(due.lease, due.abort ? aborted() : outcome());
      if (auto asked = orphan_waiters_.extract(due.lease)) {
        world_->orphan_ended(due.lease);
        asked.mapped().deliver(CallAborted{due.lease});
      }
    }
  }

  void end(Lease lease, CallOutcome outcome) {
    auto ended = calls_.extract(lease);
    world_->call_ended(lease, {outcome.kind, garbage_});
    ended.mapped().started.deliver(CallEnded{lease, std::move(outcome)});
    for (auto& asked : ended.mapped().aborting) asked.deliver(CallAborted{lease});
  }

  // --- Outcomes --------------------------------------------------------------------------------

  /// Many calls end at once, and many close to their deadline, where ends race with aborts.
  microseconds duration(const StartCall& call) {
    if (world_->gentle) return milliseconds{dice().below(10)};
    const auto steady = world_->call_times.find(call.job->spec->customer);
    if (steady != world_->call_times.end()) return steady->second;
    const milliseconds timeout = call.timeout;
    if (dice().one_in(4)) return microseconds{0};
    if (dice().one_in(20)) {
      return world_->may(Fault::provider_hang) ? microseconds{timeout} * 1000 : microseconds{0};
    }
    if (dice().one_in(8)) return timeout - microseconds{2000} + microseconds{dice().below(4000)};
    return microseconds{dice().below(static_cast<std::uint64_t>(timeout.count()) * 1500)};
  }

  CallOutcome outcome() {
    garbage_ = false;
    CallOutcome result;
    result.kind = CallOutcome::Kind::succeeded;
    const std::uint64_t die = dice().below(13);
    if (die > 11 && world_->may(Fault::provider_garbage)) return garbage();
    if (die > 6 && world_->may(Fault::provider_failure)) result.kind = failure(die);
    if (die == 6 && world_->may(Fault::provider_failure)) {
      result.kind = CallOutcome::Kind::pending;
      result.operation = "begun";
      result.retry_after = milliseconds{dice().below(3000)};
    } else if (result.kind == CallOutcome::Kind::succeeded) {
      result.properties["result"] = "1";
    } else {
      result.code = "provider_error";
      result.message = "simulated";
      if (dice().one_in(3)) result.retry_after = milliseconds{dice().below(3000)};
      result.pauses_service =
          result.kind == CallOutcome::Kind::throttled && world_->has_circuit(service_);
    }
    return result;
  }

  CallOutcome::Kind failure(std::uint64_t die) {
    if (die == 7) return CallOutcome::Kind::rejected;
    if (die == 8 || die == 9) return CallOutcome::Kind::retryable;
    if (die == 10)
      return ++put_off_ % 3 == 0 ? CallOutcome::Kind::unable : CallOutcome::Kind::throttled;
    return CallOutcome::Kind::unknown;
  }

  /// Outcomes that a correct provider never returns.
  CallOutcome garbage() {
    garbage_ = true;
    CallOutcome result;
    switch (dice().below(4)) {
      case 0:
        result.kind = CallOutcome::Kind::succeeded;
        result.properties["result"] = std::string(garbage_bytes, '1');
        break;
      case 1:  // An abort without a request for it.
        result.kind = CallOutcome::Kind::aborted;
        break;
      case 2:
        result.kind = CallOutcome::Kind::retryable;
        result.retry_after = milliseconds{dice().one_in(2) ? -60'000 : 1'000'000'000'000};
        break;
      default:
        result.kind = CallOutcome::Kind::succeeded;
        result.messages.assign(messages_max + 20, {world_->now_wall, Severity::info, "", "again"});
        result.messages.back().text = std::string(message_bytes_max + 1, '\x80');
        break;
    }
    return result;
  }

  CallOutcome aborted() {
    garbage_ = false;
    CallOutcome result;
    result.kind = CallOutcome::Kind::aborted;
    return result;
  }

  std::shared_ptr<World> world_;
  const std::string service_;
  std::map<Lease, Call> calls_;
  std::multimap<SteadyTime, Due> due_;
  /// Requests that wait for the end of calls of a previous provider.
  std::multimap<Lease, caf::typed_response_promise<CallAborted>> orphan_waiters_;
  std::uint64_t put_off_ = 0;  ///< Calls that were throttled or could not be made.
  bool garbage_ = false;       ///< Whether the last outcome was garbage.
};

}  // namespace

Provider spawn_provider(caf::actor_system& system, std::shared_ptr<World> world,
                        std::string service) {
  return system.spawn<SimulatedProvider>(std::move(world), std::move(service));
}

}  // namespace simulation
