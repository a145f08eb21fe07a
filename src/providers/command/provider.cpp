#include "src/providers/command/provider.hpp"

#include <utility>
#include <vector>

#include "src/providers/call_document.hpp"
#include "src/providers/command/outcome.hpp"
#include "src/providers/secrets.hpp"

namespace celld::providers {
namespace {

std::shared_ptr<const CommandProgram> program_of(const CommandService& service,
                                                 std::vector<std::string> arguments) {
  auto program = std::make_shared<CommandProgram>();
  program->arguments = std::move(arguments);
  for (const auto& [name, secret] : service.environment) {
    program->environment.push_back(name + "=" + secret.value);
  }
  return program;
}

class CommandServiceCalls : public ServiceCalls,
                            public std::enable_shared_from_this<CommandServiceCalls> {
 public:
  CommandServiceCalls(std::string name, const CommandService& service,
                      std::shared_ptr<CommandCalls> calls, WallClock wall_clock)
      : name_(std::move(name)),
        program_(program_of(service, service.arguments)),
        undo_(program_of(service, service.undo_arguments.value_or(service.arguments))),
        secrets_(secrets_of(service.environment)),
        calls_(std::move(calls)),
        wall_clock_(std::move(wall_clock)) {}

  void prepare() const override { calls_->prepare(); }

  void start(const cells::StartCall& call, std::function<void(Outcome)> ended) const override {
    const auto& program = cells::is_compensating(*call.job) ? undo_ : program_;
    calls_->start(call.lease,
                  {program, call_document(*call.job), call.timeout, error_line_bytes_max(secrets_)},
                  [self = shared_from_this(), ended = std::move(ended)](CommandResult result) {
                    ended([self, result = std::move(result)] {
                      return interpret(self->name_, result, self->wall_clock_(), self->secrets_);
                    });
                  });
  }

 private:
  const std::string name_;
  const std::shared_ptr<const CommandProgram> program_;
  const std::shared_ptr<const CommandProgram> undo_;
  const std::vector<std::string> secrets_;
  const std::shared_ptr<CommandCalls> calls_;
  const WallClock wall_clock_;
};

}  // namespace

cells::Provider spawn_command_provider(caf::actor_system& system, std::string name,
                                       const CommandService& service,
                                       std::shared_ptr<CommandCalls> calls,
                                       AbortByLease abort_by_lease, WallClock wall_clock) {
  return spawn_call_provider(system,
                             std::make_shared<CommandServiceCalls>(
                                 std::move(name), service, std::move(calls), std::move(wall_clock)),
                             std::move(abort_by_lease));
}

}  // namespace celld::providers
