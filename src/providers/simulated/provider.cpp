#include "src/providers/simulated/provider.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <utility>

namespace celld::providers {

/// To itself: the call that was the earliest at the time of sending is due.
struct SimulatedTick {};

}  // namespace celld::providers

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::providers::SimulatedTick)

namespace celld::providers {
namespace {

using cells::CallAborted;
using cells::CallEnded;
using cells::CallOutcome;
using cells::Lease;
using SimulatedHandle =
    cells::Provider::extend<caf::reacts_to<SimulatedTick>, caf::reacts_to<ServiceCallGone>>;

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): each bit of the input affects every
/// bit of the result.
std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// In the range [0, 1).
double to_unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

class SimulatedProvider : public SimulatedHandle::base {
 public:
  SimulatedProvider(caf::actor_config& actor_config, std::string name, SimulatedService service,
                    AbortByLease abort_by_lease)
      : SimulatedHandle::base(actor_config),
        name_(std::move(name)),
        service_(service),
        abort_by_lease_(std::move(abort_by_lease)) {
    success_.kind = CallOutcome::Kind::succeeded;
    success_.properties.emplace(name_, R"({"simulated":true})");
  }

  behavior_type make_behavior() override {
    return {
        [this](const cells::StartCall& call) { return start(call); },
        [this](const cells::AbortCall& abort) { return this->abort(abort.lease); },
        [this](const SimulatedTick&) { answer_due(); },
        [this](const ServiceCallGone& gone) { aborting_.confirm(gone.lease); },
    };
  }

  void on_exit() override {
    by_lease_.clear();
    for (auto& [due, pending] : std::exchange(calls_, {})) {
      pending.promise.deliver(caf::make_error(caf::sec::request_receiver_down));
    }
    aborting_.refuse();
  }

 private:
  using TimePoint = caf::actor_clock::time_point;
  using Promise = caf::typed_response_promise<CallEnded>;
  struct Pending {
    Lease lease;
    CallOutcome outcome;
    Promise promise;
  };
  using Calls = std::multimap<TimePoint, Pending>;

  caf::result<CallEnded> start(const cells::StartCall& call) {
    const auto fate = simulate(service_, *call.job);
    const bool in_time = fate.latency <= call.timeout;
    auto outcome = in_time ? outcome_of(fate) : timed_out();
    const auto wait = in_time ? fate.latency : cells::microseconds{call.timeout};
    if (wait.count() <= 0) return CallEnded{call.lease, std::move(outcome)};
    if (by_lease_.contains(call.lease)) return CallEnded{call.lease, aborted()};

    auto promise = make_response_promise<CallEnded>();
    const auto due = clock().now() + wait;
    by_lease_[call.lease] = calls_.emplace(due, Pending{call.lease, std::move(outcome), promise});
    arm(clock().now());
    return promise;
  }

  caf::result<CallAborted> abort(const Lease& lease) {
    if (const auto found = by_lease_.find(lease); found != by_lease_.end()) {
      found->second->second.outcome = aborted();
      answer(found->second);
      return CallAborted{lease};
    }
    auto promise = make_response_promise<CallAborted>();
    aborting_.add(lease, promise);
    abort_by_lease_(lease, [self = SimulatedHandle{this}, lease] {
      caf::anon_send(self, ServiceCallGone{lease});
    });
    return promise;
  }

  void answer_due() {
    const auto now = clock().now();
    if (armed_ && *armed_ <= now) armed_.reset();
    while (!calls_.empty() && calls_.begin()->first <= now) answer(calls_.begin());
    arm(now);
  }

  void answer(Calls::iterator call) {
    auto pending = std::move(call->second);
    calls_.erase(call);
    by_lease_.erase(pending.lease);
    pending.promise.deliver(CallEnded{pending.lease, std::move(pending.outcome)});
  }

  /// Arms a tick for the earliest call. A later tick may still be pending; it will find nothing to
  /// do.
  void arm(TimePoint now) {
    if (calls_.empty()) return;
    const auto earliest = calls_.begin()->first;
    if (armed_ && *armed_ <= earliest) return;
    armed_ = earliest;
    delayed_send(this, earliest - now, SimulatedTick{});
  }

  CallOutcome outcome_of(const SimulatedFate& fate) const {
    if (!fate.fails) return success_;
    return failure(CallOutcome::Kind::retryable, "provider_error", name_ + " simulated a failure.");
  }
  CallOutcome timed_out() const {
    return failure(CallOutcome::Kind::unknown, "timeout", name_ + " did not answer in time.");
  }
  CallOutcome aborted() const {
    return failure(CallOutcome::Kind::aborted, "cancelled",
                   "celld aborted the call to " + name_ + ".");
  }
  static CallOutcome failure(CallOutcome::Kind kind, std::string code, std::string message) {
    CallOutcome outcome;
    outcome.kind = kind;
    outcome.code = std::move(code);
    outcome.message = std::move(message);
    return outcome;
  }

  std::string name_;
  SimulatedService service_;
  AbortByLease abort_by_lease_;
  CallOutcome success_;
  Calls calls_;
  std::map<Lease, Calls::iterator> by_lease_;
  OpenAborts aborting_;
  std::optional<TimePoint> armed_;  ///< When the earliest pending tick is due.
};

}  // namespace

SimulatedFate simulate(const SimulatedService& service, const cells::Job& job) {
  auto bits = scramble(service.seed);
  bits = scramble(bits ^ job.id);
  bits = scramble(bits ^ job.step);
  const bool undoes = cells::is_compensating(job);
  bits = scramble(bits ^ cells::current_attempt(job));
  if (undoes) bits = scramble(bits);
  const cells::microseconds min = service.latency_min;
  const cells::microseconds span = service.latency_max - service.latency_min;
  const auto latency = min + cells::microseconds{static_cast<std::int64_t>(
                                 to_unit(bits) * static_cast<double>(span.count() + 1))};
  const double failure_rate =
      undoes ? service.undo_failure_rate.value_or(service.failure_rate) : service.failure_rate;
  return {latency, to_unit(scramble(bits)) < failure_rate};
}

cells::Provider spawn_simulated_provider(caf::actor_system& system, std::string name,
                                         SimulatedService service, AbortByLease abort_by_lease) {
  return system.spawn<SimulatedProvider>(std::move(name), service, std::move(abort_by_lease));
}

}  // namespace celld::providers
