// The last lines of a command's standard error.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "src/providers/command/exchange.hpp"

namespace celld::providers {

/// Keeps at most `lines_max` lines of at most `line_bytes_max` bytes each. Ignores blank lines.
class CommandErrors {
 public:
  CommandErrors(std::size_t lines_max, std::size_t line_bytes_max)
      : lines_max_(lines_max), line_bytes_max_(line_bytes_max) {}

  void add(std::string_view bytes);
  /// The lines, oldest first, including a last line without a line end.
  std::vector<ErrorLine> take();

 private:
  void add_to_line(std::string_view bytes);
  void end_line();

  std::size_t lines_max_;
  std::size_t line_bytes_max_;
  std::deque<ErrorLine> lines_;
  ErrorLine line_;
};

}  // namespace celld::providers
