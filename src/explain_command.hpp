// `celld --check --explain SERVICE`: shows the requests for a job, and makes none.
#pragma once

#include <string>
#include <string_view>

#include "src/config/config.hpp"

namespace celld {

/// `job` is the body of a POST /v1/jobs, which may have `properties` as well: the results of
/// earlier steps. Prints the requests that `service` would make for it to standard output.
/// Otherwise prints what is wrong to standard error, and returns false.
bool explain_job(const config::Config& config, const std::string& service, std::string_view job);

}  // namespace celld
