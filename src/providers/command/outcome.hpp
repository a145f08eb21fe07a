// The outcome of a call to a command.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cells/model/time.hpp"
#include "cells/ports/provider.hpp"
#include "src/providers/command/exchange.hpp"

namespace celld::providers {

/// EX_TEMPFAIL of sysexits.h.
inline constexpr int exit_temporary_failure = 75;

/// The outcome of a run of `service` that ended at `now`:
///
///   exit 0, output of the right shape   succeeded
///   exit 0, any other output            retryable, invalid_response
///   too much output                     retryable, invalid_response
///   exit 75                             retryable, provider_error
///   any other exit                      rejected, provider_rejected or the command's own code
///   a signal that celld did not send    unknown, provider_error
///   its supervisor died                 unknown, provider_error
///   it could not be started             retryable, communications_error
///   timeout                             unknown, timeout
///   killed by celld                     aborted
///
/// The output has the shape of an http provider's answer. With an exit status other than 0 it may
/// hold a `code` and a `message`. Each line of standard error becomes a message. `secrets` are
/// blanked everywhere except in the properties.
cells::CallOutcome interpret(const std::string& service, const CommandResult& result,
                             cells::WallTime now, const std::vector<std::string>& secrets);

/// A line of standard error as the text of a message: valid UTF-8 without control characters, at
/// most `text_bytes_max` bytes, and without `secrets`.
std::string message_text(const ErrorLine& line, const std::vector<std::string>& secrets);

/// How many bytes of each line of standard error to keep, so that a secret at the cut is
/// recognised.
std::size_t error_line_bytes_max(const std::vector<std::string>& secrets);

}  // namespace celld::providers
