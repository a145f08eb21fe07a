// Standard output and standard error, on a terminal, in a file or in a pipe.
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
  /// Tables are cut and coloured on a terminal, whole and plain elsewhere.
  TableLook look() const;

  /// Writes and flushes. When the reader has closed the pipe, SIGPIPE ends the process, as
  /// shells expect; any other error throws a Failure.
  void print(std::string_view text);

  /// A JSON document on a line of its own, escaped for a terminal.
  void print_json(std::string_view document);

  /// Prints the next version of a view. On a terminal it replaces the previous one, as far as it
  /// fits on the screen; elsewhere it follows after an empty line.
  void repaint(std::string_view text);

 private:
  bool is_terminal_;
  bool colour_;
  std::size_t painted_lines_ = 0;
  bool painted_ = false;
};

/// Prints a message for the user to standard error.
void print_message(std::string_view text);

}  // namespace celld::cli
