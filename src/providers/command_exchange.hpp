// One run of a command as plain values: what it is given, how it ended, and what it may cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cells/model/time.hpp"
#include "src/providers/command_wire.hpp"

namespace celld::providers {

using cells::milliseconds;

struct CommandLimits {
  std::size_t output_bytes_max = 1 << 20;
  std::size_t error_lines_max = 100;
  milliseconds stop_grace{5'000};  ///< For what still runs when the transport ends.
};

struct CommandRequest {
  std::shared_ptr<const CommandProgram> program;
  std::string document;  ///< For standard input.
  milliseconds timeout{};
  std::size_t error_line_bytes_max = 4 << 10;
};

/// A line of standard error, without its end.
struct ErrorLine {
  std::string text;
  bool cut = false;  ///< There was more of it.
};

/// Whatever the end, nothing of the command's group is left when it is told.
struct CommandResult {
  enum class End : std::uint8_t {
    exited,     ///< By itself; `value` is the status, `output` the answer.
    killed,     ///< By signal `value`, which was not ours.
    not_begun,  ///< It could not be started, errno `value`: nothing has happened.
    timed_out,
    too_large,  ///< Its output passed the limit.
    lost,       ///< Its supervisor died, and the command with it.
    aborted,    ///< Ended by us.
  };
  End end = End::aborted;
  int value = 0;
  std::string output;
  std::vector<ErrorLine> errors;  ///< The last lines, the oldest first.
};

}  // namespace celld::providers
