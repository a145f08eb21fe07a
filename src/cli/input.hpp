// Reads files named on the command line.
#pragma once

#include <cstddef>
#include <string>

namespace celld::cli {

/// The whole file; "-" is standard input. Throws a Failure when it is unreadable or too long.
std::string read_input(const std::string& path, std::size_t bytes_max);

}  // namespace celld::cli
