#include "src/providers/provider_factory.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include "src/providers/command_provider.hpp"
#include "src/providers/simulated_provider.hpp"

namespace celld::providers {
namespace {

/// Aborts through every transport: the call may date from when the service was of another type, and
/// only the transport that makes the call knows when it is gone.
AbortByLease abort_through(std::shared_ptr<HttpCallQueue> http,
                           std::shared_ptr<CommandCalls> commands) {
  return [http = std::move(http), commands = std::move(commands)](const cells::Lease& lease,
                                                                  std::function<void()> gone) {
    if (!commands) return http->abort(lease, std::move(gone));
    const auto gone_from_one = [gone = std::move(gone),
                                left = std::make_shared<std::atomic<int>>(2)] {
      if (--*left == 0) gone();
    };
    http->abort(lease, gone_from_one);
    commands->abort(lease, gone_from_one);
  };
}

}  // namespace

cells::Provider spawn_provider(caf::actor_system& system, const config::Service& service,
                               HttpTransport& http, WallClock wall_clock,
                               CommandTransport* commands) {
  auto abort_by_lease = abort_through(http.calls(), commands ? commands->calls() : nullptr);
  if (const auto* kind = std::get_if<config::HttpService>(&service.kind)) {
    return spawn_http_provider(system, service.name, *kind, http.calls(), std::move(abort_by_lease),
                               std::move(wall_clock));
  }
  if (const auto* kind = std::get_if<config::CommandService>(&service.kind)) {
    return spawn_command_provider(system, service.name, *kind, commands->calls(),
                                  std::move(abort_by_lease), std::move(wall_clock));
  }
  return spawn_simulated_provider(system, service.name,
                                  std::get<config::SimulatedService>(service.kind),
                                  std::move(abort_by_lease));
}

}  // namespace celld::providers
