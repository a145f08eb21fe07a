// The provider of a service whose calls another thread makes: one actor for all kinds of them.
#pragma once

#include <functional>
#include <memory>

#include "cells/model/time.hpp"
#include "cells/ports/provider.hpp"
#include "src/providers/open_aborts.hpp"

namespace celld::providers {

using WallClock = std::function<cells::WallTime()>;

/// How the calls of one service are made.
class ServiceCalls {
 public:
  /// What a call came to. It is worked out by the provider, not on the thread that makes the calls.
  using Outcome = std::function<cells::CallOutcome()>;

  virtual ~ServiceCalls() = default;

  /// There will be calls.
  virtual void prepare() const {}
  /// Makes a call; `ended` is called once, from any thread. Under a lease that has a call already
  /// it ends `aborted`.
  virtual void start(const cells::StartCall& call, std::function<void(Outcome)> ended) const = 0;
};

/// Remembers only whom to answer: the calls themselves are made elsewhere, by lease, so that a
/// successor can abort what this actor left behind. When it ends, it ends its calls.
cells::Provider spawn_call_provider(caf::actor_system& system,
                                    std::shared_ptr<const ServiceCalls> calls,
                                    AbortByLease abort_by_lease);

}  // namespace celld::providers
