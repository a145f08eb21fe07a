// One run of a command, seen from celld: its three pipes, its deadline, and how it ended.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cells/model/ids.hpp"
#include "src/providers/command/calls.hpp"
#include "src/providers/command/errors.hpp"
#include "src/providers/command/exchange.hpp"
#include "src/providers/command/supervisor.hpp"
#include "src/providers/command/uv.hpp"

namespace celld::providers {

/// Used by the loop's thread only. After `kill`, the command exists until the supervisor reports
/// its end.
class CommandCall {
 public:
  /// `kill` is called at most once: at the deadline, when the output is too large, or on abort().
  CommandCall(uv_loop_t& loop, CommandCalls::Start start, const CommandLimits& limits,
              std::function<void()> kill);
  CommandCall(const CommandCall&) = delete;
  CommandCall& operator=(const CommandCall&) = delete;

  /// Makes the pipes, writes the document and starts reading. Fills `descriptors` with the program
  /// and the command's ends of the pipes. Returns 0 or an errno.
  int open(CommandDescriptors& descriptors);

  const cells::Lease& lease() const { return start_.lease; }

  /// Kills the command. `gone`, if set, is called after `ended`.
  void abort(CommandCalls::Gone gone);

  /// Reports the end to the starter and to each abort. Call once, when nothing of the command is
  /// left; after that, only destroy the object.
  void end(CommandEnd end);

 private:
  int open_pipe(Uv<uv_pipe_t>& ours, Descriptor& theirs, bool we_write);
  void write_document();
  void listen(Uv<uv_pipe_t>& pipe);
  void arm();
  void on_read(uv_stream_t* stream, ssize_t count, const char* bytes);
  void take(const uv_pipe_t* pipe, std::string_view bytes);
  void read_rest(const Uv<uv_pipe_t>& pipe);
  void kill(CommandResult::End cause);

  uv_loop_t& loop_;
  CommandCalls::Start start_;
  CommandLimits limits_;
  std::function<void()> kill_;
  Uv<uv_pipe_t> input_;
  Uv<uv_pipe_t> output_;
  Uv<uv_pipe_t> errors_;
  Uv<uv_timer_t> timer_;
  std::string answer_;
  CommandErrors lines_;
  std::optional<CommandResult::End> cause_;  ///< Why celld killed it.
  bool is_cut_ = false;                      ///< `answer_` lacks what came last.
  std::vector<CommandCalls::Gone> aborted_;
};

}  // namespace celld::providers
