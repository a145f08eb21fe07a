#include "src/providers/provider_factory.hpp"

#include <utility>
#include <variant>

#include "src/providers/command_provider.hpp"
#include "src/providers/simulated_provider.hpp"

namespace celld::providers {

cells::Provider spawn_provider(caf::actor_system& system, const config::Service& service,
                               HttpTransport& http, WallClock wall_clock,
                               CommandTransport* commands) {
  if (const auto* kind = std::get_if<config::HttpService>(&service.kind)) {
    return spawn_http_provider(system, service.name, *kind, http.calls(), std::move(wall_clock));
  }
  if (const auto* kind = std::get_if<config::CommandService>(&service.kind)) {
    return spawn_command_provider(system, service.name, *kind, commands->calls(),
                                  std::move(wall_clock));
  }
  return spawn_simulated_provider(system, service.name,
                                  std::get<config::SimulatedService>(service.kind));
}

}  // namespace celld::providers
