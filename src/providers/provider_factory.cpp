#include "src/providers/provider_factory.hpp"

#include <utility>
#include <variant>

#include "src/providers/simulated_provider.hpp"

namespace celld::providers {

cells::Provider spawn_provider(caf::actor_system& system, const config::Service& service,
                               HttpTransport& transport, WallClock wall_clock) {
  if (const auto* http = std::get_if<config::HttpService>(&service.kind)) {
    return spawn_http_provider(system, service.name, *http, transport.calls(),
                               std::move(wall_clock));
  }
  return spawn_simulated_provider(system, service.name,
                                  std::get<config::SimulatedService>(service.kind));
}

}  // namespace celld::providers
