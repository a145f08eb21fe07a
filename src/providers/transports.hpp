// The transports of all kinds of providers.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "src/config/config.hpp"
#include "src/providers/provider_kind.hpp"

namespace celld::providers {

/// Aborts through all of `transports`: the call may date from when the service was of another kind,
/// and only the transport that makes the call knows when it is gone.
AbortByLease abort_through(std::vector<AbortByLease> transports);

/// One transport of each kind. Must be destroyed before the actor system, because its callbacks
/// hold actors.
class Transports {
 public:
  Transports(const std::vector<const ProviderKind*>& kinds, const TransportContext& context);

  /// Starts the provider of `service`. It also aborts calls that its predecessor, of any kind, left
  /// behind.
  cells::Provider spawn(caf::actor_system& system, const config::Service& service) const;

 private:
  std::map<const config::ServiceKind*, std::unique_ptr<Transport>> by_kind_;
};

}  // namespace celld::providers
