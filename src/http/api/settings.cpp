#include "src/http/api/settings.hpp"

#include <utility>

#include "src/config/show.hpp"

namespace celld::api {

std::function<bool(const std::string& service, const std::string& action)> undos_of(
    const std::vector<config::Service>& services) {
  std::map<std::string, std::shared_ptr<const config::ServiceSettings>> by_name;
  for (const auto& service : services) by_name.emplace(service.name, service.settings);
  return [by_name = std::move(by_name)](const std::string& service, const std::string& action) {
    const auto found = by_name.find(service);
    return found != by_name.end() && found->second->can_undo(action);
  };
}

std::shared_ptr<const Settings> make_settings(const config::Config& config,
                                              std::shared_ptr<const cells::Routing> routing) {
  auto settings = std::make_shared<Settings>();
  for (const auto& service : config.services) {
    settings->rules.services.insert(service.name);
    settings->service_types.emplace(service.name, service.settings->kind().type());
  }
  settings->rules.can_undo = undos_of(config.services);
  settings->rules.routing = std::move(routing);
  settings->access = AccessControl{config.tokens};
  settings->shown = config::show(config);
  return settings;
}

}  // namespace celld::api
