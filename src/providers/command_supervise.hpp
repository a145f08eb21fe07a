// The supervisor of commands: a small process between celld and the commands, which ends them when
// celld is gone, however that came about.
#pragma once

namespace celld::providers {

/// The hidden first argument under which celld runs itself as the supervisor.
inline constexpr const char* supervise_argument = "supervise-commands";

/// Its descriptors: the socket to celld, and the file whose lock says that commands may still run.
inline constexpr int supervisor_socket = 0;
inline constexpr int supervisor_lock = 3;

/// All that the process does; returns what to exit with. Starts and kills commands as it is told.
/// When its socket closes it kills every group that is left, waits for their ends, and returns;
/// until then it holds the lock. No signal but SIGKILL and SIGSTOP moves it.
int supervise_commands();

}  // namespace celld::providers
