// Runs the commands of all services on one thread, with libuv and a supervisor process.
#pragma once

#include <memory>
#include <thread>

#include "src/providers/command/calls.hpp"
#include "src/providers/command/exchange.hpp"

namespace celld::providers {

/// calls() starts and aborts calls. A command gets no shell, a process group of its own, no
/// descriptors but standard input, output and error, and only the configured environment. At its
/// timeout, its whole group is killed.
///
/// main() must call supervise_commands() when its first argument is `supervise_argument`: the first
/// call, or prepare(), starts the program again with that argument.
class CommandTransport {
 public:
  /// The supervisor shares `lock` and holds it, even after the end of this process, until nothing
  /// of its commands is left.
  explicit CommandTransport(Descriptor lock = Descriptor{}, CommandLimits limits = {});
  /// Kills all commands, which end `aborted`, and joins the thread.
  ~CommandTransport();
  CommandTransport(const CommandTransport&) = delete;
  CommandTransport& operator=(const CommandTransport&) = delete;

  /// May outlive the transport.
  const std::shared_ptr<CommandCalls>& calls() const { return calls_; }

 private:
  Descriptor lock_;
  std::shared_ptr<CommandCalls> calls_;
  std::thread thread_;
};

}  // namespace celld::providers
