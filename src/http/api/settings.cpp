#include "src/http/api/settings.hpp"

#include <utility>

#include "src/config/show.hpp"

namespace celld::api {

std::shared_ptr<const Settings> make_settings(const config::Config& config,
                                              std::shared_ptr<const cells::Routing> routing) {
  auto settings = std::make_shared<Settings>();
  for (const auto& service : config.services) {
    settings->rules.services.insert(service.name);
    settings->service_types.emplace(service.name, service.settings->kind().type());
  }
  settings->rules.can_undo = config::undos_of(config.services);
  settings->rules.routing = std::move(routing);
  settings->access = AccessControl{config.tokens};
  settings->shown = config::show(config);
  return settings;
}

}  // namespace celld::api
