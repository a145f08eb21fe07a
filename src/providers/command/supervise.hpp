// The command supervisor: a small process between celld and its commands, which kills them when
// celld ends, however it ends.
#pragma once

namespace celld::providers {

/// The hidden first argument under which celld runs itself as the supervisor.
inline constexpr const char* supervise_argument = "supervise-commands";

/// The supervisor's descriptors: the socket to celld, and the file that is locked while commands
/// may run.
inline constexpr int supervisor_socket = 0;
inline constexpr int supervisor_lock = 3;

/// The supervisor's main function; returns the exit code. Starts and kills commands as celld
/// orders. When its socket closes, it kills every remaining group, waits for them to end, and
/// returns; it holds the lock until then. It blocks every signal that can be blocked.
int supervise_commands();

}  // namespace celld::providers
