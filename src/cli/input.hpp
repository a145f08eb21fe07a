// Reads files named on the command line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace celld::cli {

/// The whole file; "-" is standard input. Throws a Failure when it is unreadable or too long;
/// `advice` ends the text about one that is too long.
std::string read_input(const std::string& path, std::size_t bytes_max,
                       std::string_view advice = "");

}  // namespace celld::cli
