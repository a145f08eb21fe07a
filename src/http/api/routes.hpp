// The paths of the API. Handlers run on HTTP threads: they parse, check, and hand over to the
// gateway.
#pragma once

#include <functional>
#include <memory>

#include "src/http/api/access.hpp"
#include "src/http/api/gateway.hpp"
#include "src/http/api/readiness.hpp"
#include "src/http/api/submission.hpp"
#include "src/http/server.hpp"

namespace celld::api {

struct Api {
  Gateway gateway;
  std::shared_ptr<const SubmissionRules> rules;
  std::shared_ptr<const Readiness> readiness;
  std::shared_ptr<const AccessControl> access = std::make_shared<const AccessControl>();
  /// Answers with all metrics; must not block.
  std::function<void(http::Responder)> scrape{};
};

/// Adds all routes to a server that has not started.
void add_routes(http::Server& server, const Api& api);

}  // namespace celld::api
