// The event loop of the command transport, which owns all of its calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "cells/model/ids.hpp"
#include "src/providers/command/call.hpp"
#include "src/providers/command/calls.hpp"
#include "src/providers/command/exchange.hpp"
#include "src/providers/command/supervisor.hpp"
#include "src/providers/command/uv.hpp"

namespace celld::providers {

/// Used by one thread, except for the constructor.
class CommandLoop {
 public:
  CommandLoop(CommandLimits limits, int lock, CommandCalls& calls);
  ~CommandLoop();
  CommandLoop(const CommandLoop&) = delete;
  CommandLoop& operator=(const CommandLoop&) = delete;

  /// Carries out orders until a stop is requested. Then kills all commands, waits up to
  /// `stop_grace` for them to end, ends the remaining calls, and closes the queue.
  void run();

 private:
  using Calls = std::map<std::uint64_t, std::unique_ptr<CommandCall>>;

  void on_wake();
  void carry_out(const CommandCalls::Prepare&) { supervisor_->prepare(); }
  void carry_out(CommandCalls::Start& start);
  void carry_out(CommandCalls::Abort& abort);
  void carry_out(const CommandCalls::Signal& signal);
  void end(std::uint64_t id, CommandEnd end);
  void begin_stop();
  void stop_when_idle();

  CommandLimits limits_;
  CommandCalls& orders_;
  uv_loop_t loop_{};
  Uv<uv_async_t> wake_;
  Uv<uv_timer_t> grace_;
  std::unique_ptr<CommandSupervisor> supervisor_;
  Calls calls_;
  std::map<cells::Lease, std::uint64_t> ids_;
  std::uint64_t last_id_ = 0;
  bool stopping_ = false;
};

}  // namespace celld::providers
