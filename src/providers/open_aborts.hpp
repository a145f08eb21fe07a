// Aborts in progress: requested by a provider, and confirmed by the transports.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "cells/ports/provider.hpp"

namespace celld::providers {

/// Aborts the call under a lease, if there is one, whichever provider started it and whichever
/// transport makes it. Then calls `gone` once, from any thread.
using AbortByLease = std::function<void(const cells::Lease&, std::function<void()> gone)>;

/// Aborts through a queue of calls, which must have `abort(lease, gone)`.
template <class Calls>
AbortByLease aborts_of(std::shared_ptr<Calls> calls) {
  return [calls = std::move(calls)](const cells::Lease& lease, std::function<void()> gone) {
    calls->abort(lease, std::move(gone));
  };
}

/// To a provider, once for each abort that it requested: no call is left under `lease`.
struct ServiceCallGone {
  cells::Lease lease;
};

/// The aborts that a provider has yet to confirm.
class OpenAborts {
 public:
  using Promise = caf::typed_response_promise<cells::CallAborted>;

  void add(const cells::Lease& lease, Promise promise) {
    promises_.emplace(lease, std::move(promise));
  }

  bool contains(const cells::Lease& lease) const { return promises_.contains(lease); }

  void confirm(const cells::Lease& lease) {
    const auto position = promises_.find(lease);
    if (position == promises_.end()) return;
    auto promise = std::move(position->second);
    promises_.erase(position);
    promise.deliver(cells::CallAborted{lease});
  }

  /// The provider is ending: pending requests get an error.
  void refuse() {
    for (auto& [lease, promise] : std::exchange(promises_, {})) {
      promise.deliver(caf::make_error(caf::sec::request_receiver_down));
    }
  }

 private:
  std::multimap<cells::Lease, Promise> promises_;
};

}  // namespace celld::providers

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::providers::ServiceCallGone)
