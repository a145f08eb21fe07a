// The provider actor of every service whose calls are made by a transport's thread.
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "cells/model/time.hpp"
#include "cells/ports/provider.hpp"
#include "src/providers/open_aborts.hpp"

namespace celld::providers {

using WallClock = std::function<cells::WallTime()>;

/// How the calls of one service are made.
class ServiceCalls {
 public:
  struct Next;
  /// Computes the outcome of a call, or what the call does next. The provider runs it, not the
  /// transport's thread.
  using Outcome = std::function<std::variant<cells::CallOutcome, Next>()>;
  using Ended = std::function<void(Outcome)>;
  /// The call goes on, with another exchange under the same lease. `ended` is called once more.
  struct Next {
    std::function<void(Ended ended)> start;
  };

  virtual ~ServiceCalls() = default;

  /// Announces that calls will follow, so that the transport can prepare for them now.
  virtual void prepare() const {}
  /// Makes a call; `ended` is called once, from any thread. A second call under one lease ends
  /// `aborted`.
  virtual void start(const cells::StartCall& call, Ended ended) const = 0;
};

/// The actor keeps only the pending requests. The transport keeps the calls, by lease, so that a
/// successor can abort the calls that this actor left behind. When the actor ends, it aborts its
/// calls.
cells::Provider spawn_call_provider(caf::actor_system& system,
                                    std::shared_ptr<const ServiceCalls> calls,
                                    AbortByLease abort_by_lease);

}  // namespace celld::providers
