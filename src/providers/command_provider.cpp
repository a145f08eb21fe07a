#include "src/providers/command_provider.hpp"

#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "src/providers/command_outcome.hpp"
#include "src/providers/http_document.hpp"

namespace celld::providers {

// From the transport's thread to the provider.

/// The command under `lease` has ended like this.
struct CommandCallEnded {
  cells::Lease lease;
  CommandResult result;
};

/// Nothing runs under `lease`; one for each abort that was asked for.
struct CommandCallGone {
  cells::Lease lease;
};

}  // namespace celld::providers

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::providers::CommandCallEnded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::providers::CommandCallGone)

namespace celld::providers {
namespace {

using CommandProviderHandle =
    cells::Provider::extend<caf::reacts_to<CommandCallEnded>, caf::reacts_to<CommandCallGone>>;

/// What must not come back in a message: the values of the environment, and each longer word of
/// them, because a secret may have several lines and be quoted by one.
std::vector<std::string> secrets_of(const config::CommandService& service) {
  constexpr std::size_t word_bytes_min = 8;
  std::vector<std::string> secrets;
  for (const auto& [name, secret] : service.environment) {
    secrets.push_back(secret.value);
    std::istringstream words(secret.value);
    for (std::string word; words >> word;) {
      if (word.size() >= word_bytes_min) secrets.push_back(word);
    }
  }
  return secrets;
}

std::shared_ptr<const CommandProgram> program_of(const config::CommandService& service) {
  auto program = std::make_shared<CommandProgram>();
  program->arguments = service.arguments;
  for (const auto& [name, secret] : service.environment) {
    program->environment.push_back(name + "=" + secret.value);
  }
  return program;
}

class CommandProvider : public CommandProviderHandle::base {
 public:
  CommandProvider(caf::actor_config& actor_config, std::string name,
                  const config::CommandService& service, std::shared_ptr<CommandCalls> calls,
                  WallClock wall_clock)
      : CommandProviderHandle::base(actor_config),
        name_(std::move(name)),
        program_(program_of(service)),
        secrets_(secrets_of(service)),
        calls_(std::move(calls)),
        wall_clock_(std::move(wall_clock)) {}

  behavior_type make_behavior() override {
    calls_->prepare();
    return {
        [this](const cells::StartCall& call) { return start(call); },
        [this](const cells::AbortCall& call) { return abort(call.lease); },
        [this](const CommandCallEnded& ended) { finish(ended); },
        [this](const CommandCallGone& gone) { confirm(gone.lease); },
    };
  }

  // Nobody would hear of their ends any more.
  void on_exit() override {
    for (const auto& [lease, promise] : started_) calls_->abort(lease, [] {});
    for (auto& [lease, promise] : std::exchange(started_, {})) refuse(promise);
    for (auto& [lease, promise] : std::exchange(aborting_, {})) refuse(promise);
  }

 private:
  using Started = caf::typed_response_promise<cells::CallEnded>;
  using Aborting = caf::typed_response_promise<cells::CallAborted>;

  caf::result<cells::CallEnded> start(const cells::StartCall& call) {
    auto promise = make_response_promise<cells::CallEnded>();
    const auto lease = call.lease;
    if (!started_.emplace(lease, promise).second) {
      promise.deliver(
          cells::CallEnded{lease, interpret(name_, CommandResult{}, wall_clock_(), secrets_)});
      return promise;
    }
    calls_->start(
        lease, {program_, call_document(*call.job), call.timeout, error_line_bytes_max(secrets_)},
        [self = handle(), lease](CommandResult result) {
          caf::anon_send(self, CommandCallEnded{lease, std::move(result)});
        });
    return promise;
  }

  caf::result<cells::CallAborted> abort(const cells::Lease& lease) {
    auto promise = make_response_promise<cells::CallAborted>();
    aborting_.emplace(lease, promise);
    calls_->abort(lease,
                  [self = handle(), lease] { caf::anon_send(self, CommandCallGone{lease}); });
    return promise;
  }

  void finish(const CommandCallEnded& ended) {
    const auto position = started_.find(ended.lease);
    if (position == started_.end()) return;
    auto promise = std::move(position->second);
    started_.erase(position);
    promise.deliver(
        cells::CallEnded{ended.lease, interpret(name_, ended.result, wall_clock_(), secrets_)});
  }

  void confirm(const cells::Lease& lease) {
    const auto position = aborting_.find(lease);
    if (position == aborting_.end()) return;
    auto promise = std::move(position->second);
    aborting_.erase(position);
    promise.deliver(cells::CallAborted{lease});
  }

  template <typename Promise>
  static void refuse(Promise& promise) {
    promise.deliver(caf::make_error(caf::sec::request_receiver_down));
  }

  CommandProviderHandle handle() { return CommandProviderHandle{this}; }

  std::string name_;
  std::shared_ptr<const CommandProgram> program_;
  std::vector<std::string> secrets_;
  std::shared_ptr<CommandCalls> calls_;
  WallClock wall_clock_;
  std::map<cells::Lease, Started> started_;
  std::multimap<cells::Lease, Aborting> aborting_;
};

}  // namespace

cells::Provider spawn_command_provider(caf::actor_system& system, std::string name,
                                       const config::CommandService& service,
                                       std::shared_ptr<CommandCalls> calls, WallClock wall_clock) {
  return system.spawn<CommandProvider>(std::move(name), service, std::move(calls),
                                       std::move(wall_clock));
}

}  // namespace celld::providers
