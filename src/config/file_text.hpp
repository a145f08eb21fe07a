// Reads the configuration's files.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

namespace celld::config {

/// The content of a file, or why there is none.
struct FileText {
  std::string content{};
  std::string fault{};  ///< Continues the name of the file; empty: the content is valid.
};

/// Reads at most the first `bytes_max` bytes.
FileText read_file(const std::string& path,
                   std::size_t bytes_max = std::numeric_limits<std::size_t>::max());

}  // namespace celld::config
