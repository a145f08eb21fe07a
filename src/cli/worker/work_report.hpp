// The report on a command that has ended.
#pragma once

#include <string>

#include "cells/ports/provider.hpp"

namespace celld::cli {

/// An element of `POST /v1/leases/report`. celld retries every failure except a rejection.
std::string report_text(const std::string& lease, const cells::CallOutcome& outcome);

}  // namespace celld::cli
