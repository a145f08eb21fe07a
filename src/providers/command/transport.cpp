#include "src/providers/command/transport.hpp"

#include <utility>

#include "src/providers/command/loop.hpp"
#include "src/providers/signal_free_thread.hpp"

namespace celld::providers {
CommandTransport::CommandTransport(Descriptor lock, CommandLimits limits)
    : lock_(std::move(lock)), calls_(std::make_shared<CommandCalls>()) {
  auto loop = std::make_shared<CommandLoop>(limits, lock_.get(), *calls_);
  thread_ = start_without_signals([loop, calls = calls_] { loop->run(); });
}

CommandTransport::~CommandTransport() {
  calls_->request_stop();
  thread_.join();
}

}  // namespace celld::providers
