// The provider of one `http` service: an actor that makes each call through the HTTP transport.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cells/model/time.hpp"
#include "cells/ports/provider.hpp"
#include "src/config/config.hpp"
#include "src/providers/http_command_queue.hpp"

namespace celld::providers {

using WallClock = std::function<cells::WallTime()>;

/// Remembers only whom to answer: the calls themselves are the transport's, by lease, so that a
/// successor can abort what this actor left behind. When it ends, it ends its calls.
cells::Provider spawn_http_provider(caf::actor_system& system, std::string name,
                                    config::HttpService service,
                                    std::shared_ptr<HttpCommandQueue> calls, WallClock wall_clock);

}  // namespace celld::providers
