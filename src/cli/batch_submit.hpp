// `cellctl submit` with a file of many jobs.
#pragma once

#include "src/cli/arguments.hpp"
#include "src/cli/failure.hpp"

namespace celld::cli {

class Session;

/// Whether the arguments name a file with one job a line.
bool is_batch(const Arguments& arguments);

/// Sends the file as a batch. If the connection breaks, sends the lines of that batch again,
/// provided that all lines sent have an idempotency key. If a batch ends early for lack of room,
/// continues where it ended.
ExitCode submit_batch(Session& session, const Arguments& arguments);

}  // namespace celld::cli
