// The last lines of a command's standard error.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/providers/command/exchange.hpp"

namespace celld::providers {

/// Keeps at most `lines_max` lines of at most `line_bytes_max` bytes each. Ignores blank lines, and
/// does not keep those for which `take_line`, if set, returns true.
class CommandErrors {
 public:
  using TakeLine = std::function<bool(const std::string& line)>;

  CommandErrors(std::size_t lines_max, std::size_t line_bytes_max, TakeLine take_line = nullptr)
      : lines_max_(lines_max), line_bytes_max_(line_bytes_max), take_line_(std::move(take_line)) {}

  void add(std::string_view bytes);
  /// The lines, oldest first, including a last line without a line end.
  std::vector<ErrorLine> take();

 private:
  void add_to_line(std::string_view bytes);
  void end_line();

  std::size_t lines_max_;
  std::size_t line_bytes_max_;
  TakeLine take_line_;
  std::deque<ErrorLine> lines_;
  ErrorLine line_;
};

}  // namespace celld::providers
