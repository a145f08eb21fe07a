// The lock that celld and its command supervisor hold while commands may run. The next celld waits
// for it.
#pragma once

#include <functional>
#include <string>

#include "cells/model/time.hpp"
#include "src/providers/command/wire.hpp"

namespace celld::providers {

/// Locks the file at `path`, and creates it if necessary. While another process holds the lock,
/// calls `waits` once and waits at most `patience`. On failure, returns no descriptor and sets
/// `error`. The lock is held until every copy of the descriptor is closed, including copies in
/// other processes.
Descriptor lock_commands(const std::string& path, cells::milliseconds patience,
                         const std::function<void()>& waits, std::string& error);

}  // namespace celld::providers
