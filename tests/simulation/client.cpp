#include <utility>

#include "tests/simulation/actors.hpp"

namespace simulation {
namespace {

/// Asks what it is told to ask, and passes on what is answered; a daemon that ends answers nothing.
class Client : public caf::event_based_actor {
 public:
  Client(caf::actor_config& config, std::shared_ptr<World> world, CellDispatcher dispatcher,
         std::shared_ptr<ClientState> state)
      : event_based_actor(config),
        world_(std::move(world)),
        dispatcher_(std::move(dispatcher)),
        state_(std::move(state)) {}

  caf::behavior make_behavior() override {
    return {
        [this](ClientSubmit& message) { submit(std::move(message.request)); },
        [this](const ClientCancel& message) { cancel(message.job); },
        [this](const ClientRetry& message) { retry(message.job); },
        [this](const ClientResize& message) { resize(message); },
        [this](const ClientChangeState& message) { change_state(message); },
        [this](const ClientReload& message) { reload(message.order); },
        [this](const ClientAudit&) { audit(); },
        [this](const ClientDrain& message) {
          world_->drain_asked();
          request(dispatcher_, caf::infinite, Drain{message.grace})
              .then(
                  [this](const Drained&) {
                    world_->drained();
                    state_->drained = true;
                  },
                  [](const caf::error&) {});
        },
    };
  }

  void on_exit() override { dispatcher_ = nullptr; }

 private:
  void submit(JobRequest job) {
    const auto idempotency = job.idempotency;
    request(dispatcher_, caf::infinite, SubmitJob{std::move(job)})
        .then(
            [this, idempotency](const JobSubmitted& answer) {
              if (!answer.job) return;
              world_->accepted(answer.job);
              if (idempotency) world_->accepted_under(*idempotency, *answer.job);
            },
            [](const caf::error&) {});
  }

  void cancel(const JobPtr& job) {
    request(dispatcher_, caf::infinite, CancelJob{job})
        .then(
            [this](const CancelAnswered& answer) {
              if (answer.accepted) world_->cancel_accepted(*answer.job);
            },
            [](const caf::error&) {});
  }

  void retry(const JobPtr& job) {
    world_->retry_asked(job->id);
    request(dispatcher_, caf::infinite, RetryJob{job})
        .then(
            [this](const RetryAnswered& answer) {
              if (answer.accepted) world_->retry_accepted(*answer.job);
            },
            [](const caf::error&) {});
  }

  void resize(const ClientResize& asked) {
    const auto number = world_->change_asked(asked.cell);
    request(dispatcher_, caf::infinite, ResizePool{asked.cell, asked.size})
        .then(
            [this, asked, number](const CellDescribed& answer) {
              if (!answer.status) return world_->change_failed(asked.cell);
              world_->resize_answered(asked.cell, number, asked.size);
            },
            [this, asked](const caf::error&) { world_->change_failed(asked.cell); });
  }

  void change_state(const ClientChangeState& asked) {
    const auto number = world_->change_asked(asked.cell);
    request(dispatcher_, caf::infinite, ChangeCellState{asked.cell, asked.state})
        .then(
            [this, asked, number](const CellDescribed& answer) {
              if (!answer.status) return world_->change_failed(asked.cell);
              world_->state_answered(asked.cell, number, asked.state);
            },
            [this, asked](const caf::error&) { world_->change_failed(asked.cell); });
  }

  void reload(const Reconfigure& order) {
    world_->reload_asked();
    request(dispatcher_, caf::infinite, order)
        .then(
            [this, order](const Reconfigured& answer) {
              state_->reloading = false;
              world_->reload_answered(order, answer.needed.empty());
              if (answer.needed.empty()) state_->reloaded = true;
            },
            [this](const caf::error&) { state_->reloading = false; });
  }

  void audit() {
    request(dispatcher_, caf::infinite, ListCells{std::nullopt, cells_listed_max})
        .then([this](CellsListed& answer) { state_->cells = std::move(answer.cells); },
              [](const caf::error&) {});
  }

  static constexpr std::size_t cells_listed_max = 1000;

  std::shared_ptr<World> world_;
  CellDispatcher dispatcher_;
  std::shared_ptr<ClientState> state_;
};

}  // namespace

caf::actor spawn_client(caf::actor_system& system, std::shared_ptr<World> world,
                        CellDispatcher dispatcher, std::shared_ptr<ClientState> state) {
  return system.spawn<Client>(std::move(world), std::move(dispatcher), std::move(state));
}

}  // namespace simulation
