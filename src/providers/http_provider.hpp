// The provider of one `http` service. The HTTP transport makes its calls.
#pragma once

#include <memory>
#include <string>

#include "cells/ports/provider.hpp"
#include "src/config/config.hpp"
#include "src/providers/call_provider.hpp"
#include "src/providers/http_call_queue.hpp"

namespace celld::providers {

cells::Provider spawn_http_provider(caf::actor_system& system, std::string name,
                                    config::HttpService service,
                                    std::shared_ptr<HttpCallQueue> calls,
                                    AbortByLease abort_by_lease, WallClock wall_clock);

}  // namespace celld::providers
