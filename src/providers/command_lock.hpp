// The lock that says that commands may still run: the next celld waits for it.
#pragma once

#include <functional>
#include <string>

#include "cells/model/time.hpp"
#include "src/providers/command_wire.hpp"

namespace celld::providers {

/// Locks the file at `path`, which is created when it is not there. While somebody else has it,
/// calls `waits` once and waits at most `patience`. None, with `error` set, when it cannot be had.
/// The lock is held until every copy of the descriptor is closed, those of other processes too.
Descriptor lock_commands(const std::string& path, cells::milliseconds patience,
                         const std::function<void()>& waits, std::string& error);

}  // namespace celld::providers
