#include "src/providers/provider_factory.hpp"

#include <unistd.h>

#include <filesystem>
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

std::vector<json::Fault> check_programs(const std::vector<config::Service>& services) {
  std::vector<json::Fault> faults;
  for (const auto& service : services) {
    const auto* command = std::get_if<config::CommandService>(&service.kind);
    if (command == nullptr) continue;
    const auto& program = command->arguments.front();
    const auto pointer = json::pointer_to("/services", service.name) + "/argv/0";
    std::error_code error;
    if (!std::filesystem::is_regular_file(program, error)) {
      faults.push_back(
          {pointer, "must name a program, and " + json::quote(program) + " is no file"});
    } else if (::access(program.c_str(), X_OK) != 0) {
      faults.push_back(
          {pointer, "must name a program, and celld may not execute " + json::quote(program)});
    }
  }
  return faults;
}

}  // namespace celld::providers
