// Tests of the simulation itself.
#pragma once

#include <string>

namespace simulation {

/// Plants each bug in turn, and runs each check that must find it, with all other checks off.
/// Prints a line for each such pair, in the form of tests/lib/run_tests.py. Returns the exit code:
/// 0 if every check found its bug. `program` is as in the user's command line.
int run_controls(const std::string& program);

}  // namespace simulation
