// What workers outside the daemon send, and what they read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace celld::bench {

/// Asks for up to `max` jobs of a service, and waits for the first of them for up to `wait_ms`.
std::string lease_request(std::string_view service, const std::string& worker, std::size_t max,
                          std::size_t wait_ms);

/// The leases in an answer. The views are valid as long as the answer.
std::vector<std::string_view> leases_of(std::string_view answer);

/// Completes all these leases.
std::string completion(const std::vector<std::string_view>& leases);

}  // namespace celld::bench
