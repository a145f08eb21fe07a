// Services as the API shows them.
#pragma once

#include <map>
#include <string>

#include "cells/model/status.hpp"
#include "src/http/api/query.hpp"

namespace celld::api {

std::string service_json(const std::string& name, const std::string& type,
                         const cells::ServiceStatus& status);

/// One page. `types`: by service name. A service that was just added or removed may be in only one
/// of the maps; such a service is left out.
std::string service_list_json(const std::map<std::string, cells::ServiceStatus>& services,
                              const std::map<std::string, std::string>& types,
                              const ListServicesByName& list);

}  // namespace celld::api
