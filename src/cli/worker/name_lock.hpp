// Keeps two workers with the same name from running on one machine at the same time.
#pragma once

#include <functional>
#include <string>

#include "src/cli/time_words.hpp"
#include "src/providers/command/wire.hpp"

namespace celld::cli {

/// Takes the name for as long as a copy of the descriptor is open in any process: the worker's
/// supervisor holds one until the last command of the worker has ended. While another worker or its
/// last commands have the name, calls `waits` once and waits, at most `patience`. Workers in
/// different network namespaces or on different machines do not see each other. Throws a Failure.
providers::Descriptor lock_name(const std::string& name, milliseconds patience,
                                const std::function<void()>& waits);

}  // namespace celld::cli
