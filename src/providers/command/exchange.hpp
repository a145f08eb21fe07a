// One run of a command as plain values: request, result and limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cells/model/time.hpp"
#include "src/providers/command/wire.hpp"

namespace celld::providers {

using cells::milliseconds;

struct CommandLimits {
  std::size_t output_bytes_max = 1 << 20;
  std::size_t error_lines_max = 100;
  milliseconds stop_grace{5'000};  ///< For commands that still run when the transport ends.
};

struct CommandRequest {
  std::shared_ptr<const CommandProgram> program;
  std::string document;  ///< For standard input.
  milliseconds timeout{};
  std::size_t error_line_bytes_max = 4 << 10;
  /// If set, called on the transport's thread with each whole line of standard error, as soon as it
  /// has been read. Lines for which it returns true do not appear in the result.
  std::function<bool(const std::string& line)> take_error_line{};
};

/// A line of standard error, without its end.
struct ErrorLine {
  std::string text;
  bool cut = false;  ///< The line was longer.
};

/// However the command ended, nothing of its process group is left when the result is reported.
struct CommandResult {
  enum class End : std::uint8_t {
    exited,       ///< Exited by itself; `value` is the status, `output` the answer.
    killed,       ///< Killed by signal `value`, which celld did not send.
    not_started,  ///< Could not be started, errno `value`: nothing has happened.
    timed_out,
    too_large,  ///< Its output exceeded the limit.
    lost,       ///< Its supervisor died, and the command with it.
    aborted,    ///< Killed by celld.
  };
  End end = End::aborted;
  int value = 0;
  std::string output;
  std::vector<ErrorLine> errors;  ///< The last lines, oldest first.
};

}  // namespace celld::providers
