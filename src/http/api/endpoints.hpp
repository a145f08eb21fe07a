// The endpoints of the API. Their handlers run on HTTP threads: each parses and checks its request,
// then passes it to the gateway.
#pragma once

#include <functional>
#include <memory>

#include "src/help_actors.hpp"
#include "src/http/api/admin_call.hpp"
#include "src/http/api/backup_sender.hpp"
#include "src/http/api/batch_desk.hpp"
#include "src/http/api/gateway.hpp"
#include "src/http/api/lease_gateway.hpp"
#include "src/http/api/readiness.hpp"
#include "src/http/api/reload.hpp"
#include "src/http/api/settings.hpp"
#include "src/http/server.hpp"

namespace celld::api {

struct Api {
  Gateway gateway;
  LeaseGateway leases;
  std::shared_ptr<const LiveSettings> settings;
  std::shared_ptr<const Readiness> readiness;
  /// Answers with all metrics; must not block.
  std::function<void(http::Responder)> scrape{};
  /// Starts a reload of the configuration file; must not block.
  std::function<void(ReloadAnswer)> reload{};
  BackupSender backup_sender{};
  Audit audit{};  ///< May be null.
  BatchDesk batch_desk{};
  /// What is wrong with a time zone on this machine, if anything.
  config::TimeZoneFault zone_fault{};
  HelpActors help_actors{};  ///< May be null.
};

/// Adds all endpoints. Call before the server starts.
void add_endpoints(http::Server& server, const Api& api);

}  // namespace celld::api
