// Signals that end cellctl.
#pragma once

namespace celld::cli {

/// Calls `handler`, which must be async-signal-safe, before SIGINT, SIGTERM or SIGHUP ends the
/// process; it calls `die_of`. While it runs, the others of these signals wait. Those that the
/// process ignores, as under `nohup`, stay ignored, and those that have a handler keep it.
void before_death(void (*handler)(int signal));

/// Async-signal-safe. The signal is blocked until the handler returns; then it is fatal.
void die_of(int signal);

}  // namespace celld::cli
