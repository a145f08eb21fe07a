#include "src/providers/command_transport.hpp"

#include <signal.h>

#include <utility>

#include "src/providers/command_loop.hpp"

namespace celld::providers {
namespace {

// Other threads handle signals; and writing to a command that does not read must not raise SIGPIPE.
std::thread start_without_signals(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

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
