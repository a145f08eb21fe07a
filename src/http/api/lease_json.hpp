// Leases as the API shows them.
#pragma once

#include <string>
#include <vector>

#include "cells/actors/protocol.hpp"
#include "src/http/api/lease_names.hpp"

namespace celld::api {

/// {"leases": […]}: what a worker is granted.
std::string granted_json(const std::vector<cells::LeaseOut>& leases, const LeaseNames& names,
                         const cells::Now& now);

/// A page of leases that are out, each with its worker; `more`: others follow.
std::string lease_list_json(const std::vector<cells::LeaseOut>& leases, bool more,
                            const LeaseNames& names, const cells::Now& now);

/// The answer to a heartbeat.
std::string held_json(const cells::LeaseOut& lease, bool cancel, const cells::Now& now);

}  // namespace celld::api
