// Files that the command line names.
#pragma once

#include <cstddef>
#include <string>

namespace celld::cli {

/// The whole file; "-" is standard input. Throws a Failure when it cannot be read or is longer.
std::string read_input(const std::string& path, std::size_t bytes_max);

}  // namespace celld::cli
