// Runs the commands of all services: one thread, libuv, and the supervisor beside it.
#pragma once

#include <memory>
#include <thread>

#include "src/providers/command_calls.hpp"
#include "src/providers/command_exchange.hpp"

namespace celld::providers {

/// Calls are started and aborted through calls(). A command gets no shell, a process group of its
/// own, no descriptors but standard input, output and error, and no environment but its own. It is
/// over at its timeout, with all of its group.
///
/// The process must give its main() to supervise_commands() when its first argument is
/// `supervise_argument`: that is how the supervisor is started, with the first call or prepare().
class CommandTransport {
 public:
  /// The supervisor shares `lock` and keeps it, beyond the end of this process too, until nothing
  /// of its commands is left.
  explicit CommandTransport(Descriptor lock = Descriptor{}, CommandLimits limits = {});
  /// Kills all commands, which end `aborted`, and joins the thread.
  ~CommandTransport();
  CommandTransport(const CommandTransport&) = delete;
  CommandTransport& operator=(const CommandTransport&) = delete;

  /// May be kept beyond the transport's life.
  const std::shared_ptr<CommandCalls>& calls() const { return calls_; }

 private:
  Descriptor lock_;
  std::shared_ptr<CommandCalls> calls_;
  std::thread thread_;
};

}  // namespace celld::providers
