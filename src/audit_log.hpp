// Logs the requests of administrators.
#pragma once

#include "src/http/api/admin_call.hpp"
#include "src/logs/log.hpp"

namespace celld {

/// Logs each admitted call. The lines of refused calls are rate-limited, because any client can
/// cause a flood of them. `log` must outlive the returned function.
api::Audit audit_to(logs::Log& log);

}  // namespace celld
