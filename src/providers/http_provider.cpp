#include "src/providers/http_provider.hpp"

#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "src/providers/http_document.hpp"
#include "src/providers/http_outcome.hpp"

namespace celld::providers {

// From the transport's thread to the provider.

/// The call under `lease` has ended like this.
struct HttpCallEnded {
  cells::Lease lease;
  HttpResult result;
};

/// Nothing is in flight under `lease`; one for each abort that was asked for.
struct HttpCallGone {
  cells::Lease lease;
};

}  // namespace celld::providers

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::providers::HttpCallEnded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::providers::HttpCallGone)

namespace celld::providers {
namespace {

using HttpProviderHandle =
    cells::Provider::extend<caf::reacts_to<HttpCallEnded>, caf::reacts_to<HttpCallGone>>;

/// What must not come back in a message: the values of the configured headers, and each longer word
/// of them, because a provider may quote "Bearer …" without its first word.
std::vector<std::string> secrets_of(const config::HttpService& service) {
  constexpr std::size_t word_bytes_min = 8;
  std::vector<std::string> secrets;
  for (const auto& [name, secret] : service.headers) {
    secrets.push_back(secret.value);
    std::istringstream words(secret.value);
    for (std::string word; words >> word;) {
      if (word.size() >= word_bytes_min) secrets.push_back(word);
    }
  }
  return secrets;
}

class HttpProvider : public HttpProviderHandle::base {
 public:
  HttpProvider(caf::actor_config& actor_config, std::string name, config::HttpService service,
               std::shared_ptr<HttpCommandQueue> calls, WallClock wall_clock)
      : HttpProviderHandle::base(actor_config),
        name_(std::move(name)),
        service_(std::move(service)),
        secrets_(secrets_of(service_)),
        calls_(std::move(calls)),
        wall_clock_(std::move(wall_clock)) {}

  behavior_type make_behavior() override {
    return {
        [this](const cells::StartCall& call) { return start(call); },
        [this](const cells::AbortCall& abort) { return this->abort(abort.lease); },
        [this](const HttpCallEnded& ended) { finish(ended); },
        [this](const HttpCallGone& gone) { confirm(gone.lease); },
    };
  }

  /// Whoever waits gets an error, not an outcome: the calls end soon, but have not yet. An
  /// AbortCall to a successor is confirmed when they have.
  void on_exit() override {
    for (const auto& [lease, promise] : started_) calls_->abort(lease, [] {});
    for (auto& [lease, promise] : std::exchange(started_, {})) refuse(promise);
    for (auto& [lease, promise] : std::exchange(aborting_, {})) refuse(promise);
  }

 private:
  using Started = caf::typed_response_promise<cells::CallEnded>;
  using Aborting = caf::typed_response_promise<cells::CallAborted>;

  caf::result<cells::CallEnded> start(const cells::StartCall& call) {
    auto promise = make_response_promise<cells::CallEnded>();
    const auto lease = call.lease;
    if (!started_.emplace(lease, promise).second) {
      promise.deliver(cells::CallEnded{lease, interpret(name_, HttpResult{}, wall_clock_())});
      return promise;
    }
    calls_->start(lease, call_request(service_, call), [self = handle(), lease](HttpResult result) {
      caf::anon_send(self, HttpCallEnded{lease, std::move(result)});
    });
    return promise;
  }

  caf::result<cells::CallAborted> abort(const cells::Lease& lease) {
    auto promise = make_response_promise<cells::CallAborted>();
    aborting_.emplace(lease, promise);
    calls_->abort(lease, [self = handle(), lease] { caf::anon_send(self, HttpCallGone{lease}); });
    return promise;
  }

  void finish(const HttpCallEnded& ended) {
    const auto position = started_.find(ended.lease);
    if (position == started_.end()) return;
    auto promise = std::move(position->second);
    started_.erase(position);
    promise.deliver(
        cells::CallEnded{ended.lease, interpret(name_, ended.result, wall_clock_(), secrets_)});
  }

  void confirm(const cells::Lease& lease) {
    const auto position = aborting_.find(lease);
    if (position == aborting_.end()) return;
    auto promise = std::move(position->second);
    aborting_.erase(position);
    promise.deliver(cells::CallAborted{lease});
  }

  template <typename Promise>
  static void refuse(Promise& promise) {
    promise.deliver(caf::make_error(caf::sec::request_receiver_down));
  }

  HttpProviderHandle handle() { return HttpProviderHandle{this}; }

  std::string name_;
  config::HttpService service_;
  std::vector<std::string> secrets_;
  std::shared_ptr<HttpCommandQueue> calls_;
  WallClock wall_clock_;
  std::map<cells::Lease, Started> started_;
  std::multimap<cells::Lease, Aborting> aborting_;
};

}  // namespace

cells::Provider spawn_http_provider(caf::actor_system& system, std::string name,
                                    config::HttpService service,
                                    std::shared_ptr<HttpCommandQueue> calls, WallClock wall_clock) {
  return system.spawn<HttpProvider>(std::move(name), std::move(service), std::move(calls),
                                    std::move(wall_clock));
}

}  // namespace celld::providers
