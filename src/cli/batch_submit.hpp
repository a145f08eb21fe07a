// `cellctl submit` with a file of many jobs.
#pragma once

#include "src/cli/arguments.hpp"
#include "src/cli/failure.hpp"

namespace celld::cli {

class Session;

/// Whether the arguments name a file with one job a line.
bool is_batch(const Arguments& arguments);

/// Sends the file as a batch. If the connection breaks, sends it again, provided that every line
/// has an idempotency key; if the batch ends early for lack of room, goes on where it ended.
ExitCode submit_batch(Session& session, const Arguments& arguments);

}  // namespace celld::cli
