#include <cstdint>
#include <utility>

#include "tests/torture/simulation/actors.hpp"

namespace simulation {
namespace {

/// Sends requests for the driver and reports the answers to the world. A daemon that ends leaves
/// requests unanswered.
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
        [this](const ClientSubmit& message) { submit(message.request); },
        [this](const ClientCancel& message) { cancel(message.job); },
        [this](const ClientRetry& message) { retry(message.job); },
        [this](const ClientResize& message) { resize(message); },
        [this](const ClientChangeState& message) { change_state(message); },
        [this](const ClientReload& message) { reload(message.order); },
        [this](const ClientAudit&) { audit(); },
        [this](const ClientShutDown& message) { shut_down(message.grace); },
    };
  }

  void on_exit() override { dispatcher_ = nullptr; }

 private:
  /// `unanswered` keeps counting a request that receives neither an answer nor an error.
  template <class Answer, class Question, class Then, class Refused>
  void ask(Question question, const Then& then, const Refused& refused) {
    state_->unanswered += 1;
    request(dispatcher_, caf::infinite, std::move(question))
        .then(
            [this, then](const Answer& answer) {
              state_->unanswered -= 1;
              then(answer);
            },
            [this, refused](const caf::error&) {
              state_->unanswered -= 1;
              refused();
            });
  }

  template <class Answer, class Question, class Then>
  void ask(Question question, const Then& then) {
    ask<Answer>(std::move(question), then, [] {});
  }

  void submit(const JobRequest& job) {
    ask<JobSubmitted>(SubmitJob{job},
                      [this, idempotency = job.idempotency,
                       stopping = world_->is_shutting_down()](const JobSubmitted& answer) {
                        if (!answer.job) return;
                        world_->accepted(answer.job, stopping && !answer.replayed);
                        if (idempotency) world_->accepted_under(*idempotency, *answer.job);
                      });
  }

  void cancel(const JobPtr& job) {
    world_->cancel_asked(job->id);
    ask<CancelAnswered>(CancelJob{job}, [this](const CancelAnswered& answer) {
      if (answer.accepted) world_->cancel_accepted(*answer.job);
    });
  }

  void retry(const JobPtr& job) {
    world_->retry_asked(job->id);
    ask<ReopenAnswered>(ReopenJob{job}, [this, id = job->id](const ReopenAnswered& answer) {
      answer.accepted ? world_->retry_accepted(*answer.job) : world_->retry_refused(id);
    });
  }

  void resize(const ClientResize& asked) {
    change(asked.cell, ResizePool{asked.cell, asked.size}, [this, asked](std::uint64_t number) {
      world_->resize_answered(asked.cell, number, asked.size);
    });
  }

  void change_state(const ClientChangeState& asked) {
    change(asked.cell, ChangeCellState{asked.cell, asked.state},
           [this, asked](std::uint64_t number) {
             world_->state_answered(asked.cell, number, asked.state);
           });
  }

  template <class Question, class Then>
  void change(const CellKey& cell, Question question, const Then& then) {
    const auto number = world_->change_asked(cell);
    ask<CellDescribed>(
        std::move(question),
        [this, cell, number, then](const CellDescribed& answer) {
          if (!answer.status) return world_->change_refused(cell);
          then(number);
        },
        [this, cell] { world_->change_unknown(cell); });
  }

  void reload(const Reconfigure& order) {
    world_->reload_asked();
    ask<Reconfigured>(
        order,
        [this, order](const Reconfigured& answer) {
          state_->reloading = false;
          world_->reload_answered(order, answer.needed.empty());
          if (answer.needed.empty()) state_->reloaded = true;
        },
        [this] { state_->reloading = false; });
  }

  void shut_down(milliseconds grace) {
    world_->shutdown_asked(grace);
    ask<ShutdownCompleted>(ShutDown{grace}, [this](const ShutdownCompleted&) {
      world_->has_shut_down();
      state_->has_shut_down = true;
    });
  }

  void audit() {
    ask<CellsListed>(ListCells{std::nullopt, cells_listed_max},
                     [this](const CellsListed& answer) { state_->cells = answer.cells; });
  }

  static constexpr std::size_t cells_listed_max = 1000;

  std::shared_ptr<World> world_;
  CellDispatcher dispatcher_;
  std::shared_ptr<ClientState> state_;
};

JobObserver::behavior_type watcher(const std::shared_ptr<World>& world) {
  return {[world](const JobChanged& change) {
            if (is_ended(change.job->state)) world->end_announced(change.job->id);
          },
          [world](const ChangesLost&) { world->changes_lost(); }};
}

}  // namespace

JobObserver spawn_watcher(caf::actor_system& system, std::shared_ptr<World> world) {
  return system.spawn(watcher, std::move(world));
}

caf::actor spawn_client(caf::actor_system& system, std::shared_ptr<World> world,
                        CellDispatcher dispatcher, std::shared_ptr<ClientState> state) {
  return system.spawn<Client>(std::move(world), std::move(dispatcher), std::move(state));
}

}  // namespace simulation
