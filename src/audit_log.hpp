// Writes what administrators do.
#pragma once

#include "src/http/api/admin_call.hpp"
#include "src/logs/log.hpp"

namespace celld {

/// A line for each call that was admitted. Of those that were not, anybody can make a flood: their
/// lines are limited. `log` must outlive what is returned.
api::Audit audit_to(logs::Log& log);

}  // namespace celld
