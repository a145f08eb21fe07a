// Services as clients see them.
#pragma once

#include <map>
#include <string>

#include "cells/model/status.hpp"

namespace celld::api {

/// `types` by the names of services; a service that just came or went may be in one map only, and
/// is left out.
std::string service_list_json(const std::map<std::string, cells::ServiceStatus>& services,
                              const std::map<std::string, std::string>& types);

}  // namespace celld::api
