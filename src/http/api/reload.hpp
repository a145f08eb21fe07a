// How a reload ended, and what is answered then.
#pragma once

#include <functional>
#include <variant>
#include <vector>

#include "cells/model/status.hpp"
#include "src/config/changes.hpp"
#include "src/http/server.hpp"
#include "src/json/json.hpp"

namespace celld::api {

struct ReloadReport {
  config::Changes changes;
  std::vector<cells::MaskedSize>
      masked;  ///< Configured sizes that an override keeps from counting.
};

/// celld is stopping, and did not look at the file.
struct ReloadRefused {};

/// With faults, nothing was changed.
using ReloadOutcome = std::variant<ReloadReport, std::vector<json::Fault>, ReloadRefused>;

/// Called once, from any thread.
using ReloadAnswer = std::function<void(const ReloadOutcome&)>;

http::Response reload_response(const ReloadOutcome& outcome);

}  // namespace celld::api
