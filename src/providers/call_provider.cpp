#include "src/providers/call_provider.hpp"

#include <map>
#include <utility>

namespace celld::providers {

/// From the transport to the provider: the call under `lease` has ended.
struct ServiceCallEnded {
  cells::Lease lease;
  ServiceCalls::Outcome outcome;
};

}  // namespace celld::providers

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::providers::ServiceCallEnded)

namespace celld::providers {
namespace {

using CallProviderHandle =
    cells::Provider::extend<caf::reacts_to<ServiceCallEnded>, caf::reacts_to<ServiceCallGone>>;

cells::CallOutcome aborted(const char* message) {
  cells::CallOutcome outcome;
  outcome.kind = cells::CallOutcome::Kind::aborted;
  outcome.code = "cancelled";
  outcome.message = message;
  return outcome;
}

class CallProvider : public CallProviderHandle::base {
 public:
  CallProvider(caf::actor_config& config, std::shared_ptr<const ServiceCalls> calls,
               AbortByLease abort_by_lease)
      : CallProviderHandle::base(config),
        calls_(std::move(calls)),
        abort_by_lease_(std::move(abort_by_lease)) {}

  behavior_type make_behavior() override {
    calls_->prepare();
    return {
        [this](const cells::StartCall& call) { return start(call); },
        [this](const cells::AbortCall& call) { return abort(call.lease); },
        [this](const ServiceCallEnded& ended) { finish(ended); },
        [this](const ServiceCallGone& gone) { aborting_.confirm(gone.lease); },
    };
  }

  /// Pending requests get an error, not an outcome: their calls are being aborted, but have not
  /// ended yet. A successor's AbortCall is confirmed once they have.
  void on_exit() override {
    for (const auto& [lease, promise] : started_) abort_by_lease_(lease, [] {});
    for (auto& [lease, promise] : std::exchange(started_, {})) {
      promise.deliver(caf::make_error(caf::sec::request_receiver_down));
    }
    aborting_.refuse();
  }

 private:
  using Started = caf::typed_response_promise<cells::CallEnded>;

  caf::result<cells::CallEnded> start(const cells::StartCall& call) {
    auto promise = make_response_promise<cells::CallEnded>();
    const auto lease = call.lease;
    if (!started_.emplace(lease, promise).second) {
      promise.deliver(cells::CallEnded{lease, aborted("This lease already has a call.")});
      return promise;
    }
    calls_->start(call, ended(lease));
    return promise;
  }

  ServiceCalls::Ended ended(const cells::Lease& lease) {
    return [self = handle(), lease](ServiceCalls::Outcome outcome) {
      caf::anon_send(self, ServiceCallEnded{lease, std::move(outcome)});
    };
  }

  caf::result<cells::CallAborted> abort(const cells::Lease& lease) {
    auto promise = make_response_promise<cells::CallAborted>();
    aborting_.add(lease, promise);
    abort_by_lease_(lease,
                    [self = handle(), lease] { caf::anon_send(self, ServiceCallGone{lease}); });
    return promise;
  }

  void finish(const ServiceCallEnded& message) {
    const auto& lease = message.lease;
    const auto position = started_.find(lease);
    if (position == started_.end()) return;
    auto outcome = message.outcome();  // First: if this throws, on_exit must find the promise.
    if (const auto* next = std::get_if<ServiceCalls::Next>(&outcome)) {
      // Between two exchanges, the transport has no call that an abort could end.
      if (!aborting_.contains(lease)) return next->start(ended(lease));
      outcome = aborted("celld aborted the call.");
    }
    auto promise = std::move(position->second);
    started_.erase(position);
    promise.deliver(cells::CallEnded{lease, std::get<cells::CallOutcome>(std::move(outcome))});
  }

  CallProviderHandle handle() { return CallProviderHandle{this}; }

  const std::shared_ptr<const ServiceCalls> calls_;
  const AbortByLease abort_by_lease_;
  std::map<cells::Lease, Started> started_;
  OpenAborts aborting_;
};

}  // namespace

cells::Provider spawn_call_provider(caf::actor_system& system,
                                    std::shared_ptr<const ServiceCalls> calls,
                                    AbortByLease abort_by_lease) {
  return system.spawn<CallProvider>(std::move(calls), std::move(abort_by_lease));
}

}  // namespace celld::providers
