#include "cells/actors/service_client.hpp"

#include <cstddef>
#include <iterator>
#include <list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cells/actors/owed_answers.hpp"
#include "cells/actors/permit_desk.hpp"
#include "cells/model/rate_meter.hpp"

namespace cells {
namespace {

constexpr std::size_t aborted_max = 10'000;

/// Owns the service's provider, and earlier ones that still have calls in flight.
class ServiceClientActor : public ServiceClient::base {
 public:
  ServiceClientActor(caf::actor_config& config, std::string name, ServiceEntry entry,
                     std::shared_ptr<EngineProbe> probe, std::function<WallTime()> wall_clock,
                     std::size_t permits_max)
      : ServiceClient::base(config),
        name_(std::move(name)),
        entry_(std::move(entry)),
        probe_(std::move(probe)),
        wall_clock_(std::move(wall_clock)),
        permits_(*this, name_, entry_.protection, permits_max, [this] { return now(); }) {
    set_down_handler([this](caf::down_msg& down) { provider_down(down.source); });
  }

  behavior_type make_behavior() override {
    probe_->spawned("service", {name_, "*"}, caf::actor_cast<caf::actor>(this));
    start();
    return {
        [this](StartCall& call) { return begin(call); },
        [this](const AbortCall& call) { return abort(call); },
        [this](ReplaceProvider& message) { replace(std::move(message.entry)); },
        [this](const DescribeService& message) { return describe(message); },
        [this](const LaneFilled& message) { permits_.filled(message); },
        [this](const LaneEmptied& message) { permits_.emptied(message.key); },
        [this](const SlotOffered& message) { permits_.offered(message); },
        [this](const PermitOver& message) {
          permits_.over(message);
          note_circuit();
        },
        [this](const Tick& message) { permits_.tick(message.at); },
    };
  }

  void on_exit() override {
    for (const auto& provider : providers_) {
      caf::anon_send_exit(provider.handle, caf::exit_reason::user_shutdown);
    }
    providers_.clear();
    for (auto& [lease, call] : calls_) {
      call.promise.deliver(caf::make_error(caf::sec::request_receiver_down));
    }
    calls_.clear();
    owed_.fail();
    permits_.clear();
  }

 private:
  struct RunningProvider {
    Provider handle;
    std::size_t calls = 0;
  };
  using Providers = std::list<RunningProvider>;  ///< The newest is first, and gets new calls.

  struct Call {
    Providers::iterator provider;
    caf::typed_response_promise<CallEnded> promise;
  };

  Now now() {
    const auto steady = clock().now().time_since_epoch();
    return {SteadyTime{std::chrono::duration_cast<microseconds>(steady)}, wall_clock_()};
  }

  void replace(ServiceEntry entry) {
    entry_ = std::move(entry);
    start();
    retire_unused();
    std::vector<Lease> calling;
    calling.reserve(calls_.size());
    for (const auto& [lease, call] : calls_) calling.push_back(lease);
    permits_.change(entry_.protection, calling);
    note_circuit();
  }

  void note_circuit() {
    const bool is_closed = permits_.has_closed_circuit();
    if (is_closed == circuit_was_closed_) return;
    circuit_was_closed_ = is_closed;
    is_closed ? probe_->circuit_closed(name_) : probe_->circuit_opened(name_);
  }

  caf::result<ServiceDescribed> describe(const DescribeService& message) {
    if (message.reset) {
      permits_.reset();
      note_circuit();
    }
    ServiceStatus status;
    status.in_flight = calls_.size();
    status.ended_per_s = ended_rate_.per_second(now().steady);
    permits_.describe(status);
    auto promise = make_response_promise<ServiceDescribed>();
    const auto owed = owed_.add(promise);
    permits_.count_waiting([this, status, owed](std::uint64_t waiting) mutable {
      status.waiting = waiting;
      owed_.deliver(owed, ServiceDescribed{std::move(status)});
    });
    return promise;
  }

  void start() {
    const Provider handle = entry_.start_provider(system());
    monitor(handle);
    providers_.push_front({handle, 0});
    probe_->spawned("provider", {name_, "*"}, caf::actor_cast<caf::actor>(handle));
  }

  caf::result<CallEnded> begin(StartCall& message) {
    const Lease lease = message.lease;
    if (aborted_.contains(lease)) {
      CallOutcome outcome;
      outcome.kind = CallOutcome::Kind::aborted;
      return CallEnded{lease, std::move(outcome)};
    }
    auto promise = make_response_promise<CallEnded>();
    const auto provider = providers_.begin();
    provider->calls += 1;
    calls_.emplace(lease, Call{provider, promise});
    permits_.call_began(lease);
    request(provider->handle, caf::infinite, std::move(message))
        .then(
            [this](CallEnded& ended) {
              const Lease of = ended.lease;
              end(of, [&](auto& owed) { owed.deliver(std::move(ended)); });
            },
            [this, lease](caf::error& error) {
              end(lease, [&](auto& owed) { owed.deliver(std::move(error)); });
            });
    return promise;
  }

  template <class Deliver>
  void end(Lease lease, Deliver deliver) {
    auto ended = calls_.extract(lease);
    if (!ended) return;
    Call& call = ended.mapped();
    call.provider->calls -= 1;
    ended_rate_.count(now().steady);
    permits_.call_ended(lease);
    deliver(call.promise);
    retire_unused();
  }

  /// The provider that began the call aborts it. Its confirmation takes the same path as the end of
  /// the call, so that it cannot overtake an earlier end. An unknown lease may belong to a provider
  /// that died; its successor confirms once nothing of that call is left.
  caf::result<CallAborted> abort(const AbortCall& message) {
    const auto found = calls_.find(message.lease);
    if (found == calls_.end()) note_aborted(message.lease);
    const auto provider = found == calls_.end() ? providers_.begin() : found->second.provider;
    auto promise = make_response_promise<CallAborted>();
    const auto owed = owed_.add(promise);
    request(provider->handle, caf::infinite, message)
        .then([this, owed](const CallAborted& aborted) { owed_.deliver(owed, aborted); },
              [this, owed](caf::error& error) { owed_.deliver(owed, std::move(error)); });
    return promise;
  }

  /// A worker that briefly outlives its dispatcher and its pool may still try to begin a call whose
  /// abort was confirmed to their successors; that call must not begin. Leases ascend, so the first
  /// is the oldest.
  void note_aborted(Lease lease) {
    aborted_.insert(lease);
    if (aborted_.size() > aborted_max) aborted_.erase(aborted_.begin());
  }

  /// Ends every provider without calls, except the newest.
  void retire_unused() {
    for (auto provider = std::next(providers_.begin()); provider != providers_.end();) {
      if (provider->calls > 0) {
        ++provider;
        continue;
      }
      caf::anon_send_exit(provider->handle, caf::exit_reason::user_shutdown);
      provider = providers_.erase(provider);
    }
  }

  /// Every answer of the provider has arrived before this message, so its remaining calls will
  /// never be answered: each gets an error. A provider that was retired has no calls.
  void provider_down(const caf::actor_addr& source) {
    for (const Lease& lease : owed_by(source)) {
      end(lease,
          [](auto& owed) { owed.deliver(caf::make_error(caf::sec::request_receiver_down)); });
    }
    if (source == providers_.front().handle.address()) {
      start();
      probe_->provider_restarted(name_);
    }
    retire_unused();
  }

  std::vector<Lease> owed_by(const caf::actor_addr& provider) const {
    std::vector<Lease> owed;
    for (const auto& [lease, call] : calls_) {
      if (call.provider->handle.address() == provider) owed.push_back(lease);
    }
    return owed;
  }

  std::string name_;
  ServiceEntry entry_;
  std::shared_ptr<EngineProbe> probe_;
  bool circuit_was_closed_ = true;  ///< As the probe knows it.
  std::function<WallTime()> wall_clock_;
  PermitDesk permits_;
  Providers providers_;
  std::map<Lease, Call> calls_;
  std::set<Lease> aborted_;  ///< No call may begin under these.
  OpenPromises owed_;
  RateMeter ended_rate_;
};

}  // namespace

ServiceClient spawn_service_client(caf::actor_system& system, std::string name, ServiceEntry entry,
                                   std::shared_ptr<EngineProbe> probe,
                                   std::function<WallTime()> wall_clock, std::size_t permits_max) {
  return system.spawn<ServiceClientActor>(std::move(name), std::move(entry), std::move(probe),
                                          std::move(wall_clock), permits_max);
}

}  // namespace cells
