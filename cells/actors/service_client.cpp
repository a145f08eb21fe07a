#include "cells/actors/service_client.hpp"

#include <utility>

namespace cells {
namespace {

class ServiceClientActor : public Provider::base {
 public:
  ServiceClientActor(caf::actor_config& config, std::string name, ServiceEntry entry,
                     std::shared_ptr<EngineProbe> probe)
      : Provider::base(config),
        name_(std::move(name)),
        entry_(std::move(entry)),
        probe_(std::move(probe)) {
    set_down_handler([this](caf::down_msg& down) {
      if (down.source == provider_.address()) start();
    });
  }

  behavior_type make_behavior() override {
    probe_->spawned("service", {name_, "*"}, caf::actor_cast<caf::actor>(this));
    start();
    return {
        [this](StartCall& call) { return delegate(provider_, std::move(call)); },
        [this](const AbortCall& call) { return delegate(provider_, call); },
    };
  }

  void on_exit() override {
    caf::anon_send_exit(provider_, caf::exit_reason::user_shutdown);
    provider_ = nullptr;
  }

 private:
  void start() {
    provider_ = entry_.start_provider(system());
    monitor(provider_);
    probe_->spawned("provider", {name_, "*"}, caf::actor_cast<caf::actor>(provider_));
  }

  std::string name_;
  ServiceEntry entry_;
  std::shared_ptr<EngineProbe> probe_;
  Provider provider_;
};

}  // namespace

Provider spawn_service_client(caf::actor_system& system, std::string name, ServiceEntry entry,
                              std::shared_ptr<EngineProbe> probe) {
  return system.spawn<ServiceClientActor>(std::move(name), std::move(entry), std::move(probe));
}

}  // namespace cells
