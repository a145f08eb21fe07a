// Standard output and standard error, and what stands at their other end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "src/cli/table.hpp"

namespace celld::cli {

class Output {
 public:
  Output();

  bool is_terminal() const { return is_terminal_; }
  /// How tables look: cut and coloured on a terminal, whole and plain elsewhere.
  TableLook look() const;

  /// Writes it now. When nobody reads any more, the process ends as the shell expects it (SIGPIPE);
  /// any other failure throws.
  void print(std::string_view text);

  /// A document of celld, on a line of its own.
  void print_json(std::string_view document);

  /// Like `print`, but instead of what was painted before: on a terminal it takes its place, as far
  /// as it fits; elsewhere it follows, after an empty line.
  void repaint(std::string_view text);

 private:
  bool is_terminal_;
  bool colour_;
  std::size_t painted_lines_ = 0;
  bool painted_ = false;
};

/// A message for the person at the keyboard, on standard error.
void tell(std::string_view text);

}  // namespace celld::cli
