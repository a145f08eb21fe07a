// The provider of one `http` service. The HTTP transport makes its calls.
#pragma once

#include <memory>
#include <string>

#include "cells/ports/provider.hpp"
#include "src/providers/call_provider.hpp"
#include "src/providers/http/call_queue.hpp"
#include "src/providers/http/settings.hpp"

namespace celld::providers {

cells::Provider spawn_http_provider(caf::actor_system& system, std::string name,
                                    HttpService service, std::shared_ptr<HttpCallQueue> calls,
                                    AbortByLease abort_by_lease, WallClock wall_clock);

}  // namespace celld::providers
