// The outcome of a reload, and the response to it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cells/model/status.hpp"
#include "src/config/changes.hpp"
#include "src/http/server.hpp"
#include "src/json/json.hpp"

namespace celld::api {

struct ReloadReport {
  config::Changes changes;
  std::vector<cells::MaskedSetting> masked;
};

/// celld is shutting down. It has not read the file, or the next start has to finish the reload.
struct ReloadRefused {};

/// If there are faults, nothing has changed.
using ReloadOutcome = std::variant<ReloadReport, std::vector<json::Fault>, ReloadRefused>;

/// Called once, from any thread.
using ReloadAnswer = std::function<void(const ReloadOutcome&)>;

http::Response reload_response(const ReloadOutcome& outcome);

/// A value of a masked setting, for the log.
std::string limit_text(std::optional<double> limit);

}  // namespace celld::api
