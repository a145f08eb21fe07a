// What the end of a command means.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cells/model/time.hpp"
#include "cells/ports/provider.hpp"
#include "src/providers/command_exchange.hpp"

namespace celld::providers {

/// EX_TEMPFAIL of sysexits.h.
inline constexpr int exit_temporary_failure = 75;

/// The outcome of a run of `service` that ended like this, at `now`:
///
///   exit 0, output of the right shape   succeeded
///   exit 0, any other output            retryable, invalid_response
///   too much output                     retryable, invalid_response
///   exit 75                             retryable, provider_error
///   any other exit                      rejected, provider_rejected or the command's own code
///   a signal that was not ours          unknown, provider_error
///   its supervisor died                 unknown, provider_error
///   it could not be started             retryable, communications_error
///   timeout                             unknown, timeout
///   ended by us                         aborted
///
/// Output is what an http provider answers with. After an exit other than 0 it may have a `code`
/// and a `message`. Each line of standard error is a message. Each of `secrets` is blanked in all
/// of this but the properties.
cells::CallOutcome interpret(const std::string& service, const CommandResult& result,
                             cells::WallTime now, const std::vector<std::string>& secrets);

/// How much of a line of standard error has to be kept, so that a secret in it can be told.
std::size_t error_line_bytes_max(const std::vector<std::string>& secrets);

}  // namespace celld::providers
