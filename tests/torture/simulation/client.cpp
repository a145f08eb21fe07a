#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "tests/torture/simulation/actors.hpp"

namespace simulation {
namespace {

/// Sends requests for the driver and reports the answers to the world. A daemon that ends leaves
/// requests unanswered.
class Client : public caf::event_based_actor {
 public:
  Client(caf::actor_config& config, std::shared_ptr<World> world, CellDispatcher dispatcher,
         Retention retention, std::size_t listed_max, std::shared_ptr<ClientState> state)
      : event_based_actor(config),
        world_(std::move(world)),
        dispatcher_(std::move(dispatcher)),
        retention_(std::move(retention)),
        listed_max_(listed_max),
        state_(std::move(state)) {}

  caf::behavior make_behavior() override {
    return {
        [this](const ClientSubmit& message) { submit(message.request); },
        [this](const ClientCancel& message) { cancel(message.job); },
        [this](const ClientReopen& message) { reopen(message.job); },
        [this](const ClientResize& message) { resize(message); },
        [this](const ClientChangeState& message) { change_state(message); },
        [this](const ClientChangeQuota& message) { change_quota(message); },
        [this](const ClientReload& message) { reload(message); },
        [this](const ClientAudit&) { audit({}, std::make_shared<std::vector<CellStatus>>()); },
        [this](const ClientShutDown& message) { shut_down(message.grace); },
    };
  }

  void on_exit() override {
    dispatcher_ = nullptr;
    retention_ = nullptr;
  }

 private:
  /// `unanswered` keeps counting a request that receives neither an answer nor an error. `number`
  /// is the world's, for its report; none: the world does not judge an error.
  template <class Answer, class Question, class Then>
  void ask(std::optional<std::uint64_t> number, Question question, const Then& then,
           const std::function<void()>& failed = nullptr) {
    state_->unanswered += 1;
    request(dispatcher_, caf::infinite, std::move(question))
        .then(
            [this, then](const Answer& answer) {
              state_->unanswered -= 1;
              then(answer);
            },
            [this, number, failed](const caf::error&) {
              state_->unanswered -= 1;
              if (number) world_->request_failed(*number);
              if (failed) failed();
            });
  }

  void submit(const JobRequest& job) {
    const auto number = world_->submission_asked(job);
    ask<JobSubmitted>(number, SubmitJob{job}, [this, number](const JobSubmitted& answer) {
      world_->submission_answered(number, answer);
    });
  }

  void cancel(const JobPtr& job) {
    const auto number = world_->cancel_asked(job);
    ask<CancelAnswered>(number, CancelJob{job}, [this, number](const CancelAnswered& answer) {
      world_->cancel_answered(number, answer);
    });
  }

  void reopen(const JobPtr& job) {
    const auto number = world_->reopen_asked(job);
    ask<ReopenAnswered>(number, ReopenJob{job}, [this, number](const ReopenAnswered& answer) {
      world_->reopen_answered(number, answer);
    });
  }

  void resize(const ClientResize& asked) {
    const auto number = world_->resize_asked(asked.cell, asked.size);
    change(number, asked.cell, ResizePool{asked.cell, asked.size},
           [this, asked, number] { world_->resize_answered(asked.cell, number, asked.size); });
  }

  void change_state(const ClientChangeState& asked) {
    const auto number = world_->change_asked(asked.cell);
    change(number, asked.cell, ChangeCellState{asked.cell, asked.state},
           [this, asked, number] { world_->state_answered(asked.cell, number, asked.state); });
  }

  void change_quota(const ClientChangeQuota& asked) {
    const auto number = world_->change_asked(asked.cell);
    change(number, asked.cell, ChangeQuota{asked.cell, asked.quota},
           [this, asked, number] { world_->quota_answered(asked.cell, number, asked.quota); });
  }

  template <class Question, class Then>
  void change(std::uint64_t number, const CellKey& cell, Question question, const Then& then) {
    ask<CellDescribed>(number, std::move(question),
                       [this, cell, number, then](const CellDescribed& answer) {
                         if (answer.refused) return world_->change_denied(cell, number);
                         if (!answer.status) return world_->change_refused(cell, number);
                         then();
                       });
  }

  void reload(const ClientReload& asked) {
    const auto number = world_->reload_asked(asked.order);
    ask<Reconfigured>(
        number, asked.order,
        [this, number, keep = asked.keep](const Reconfigured& answer) {
          state_->reloading = false;
          world_->reload_answered(number, answer);
          if (!answer.needed.empty() || !answer.undos_needed.empty()) return;
          state_->reloaded = true;
          world_->retention_changed(keep);
          send(retention_, KeepEnded{keep});
        },
        [this] { state_->reloading = false; });
  }

  void shut_down(milliseconds grace) {
    world_->shutdown_asked(grace);
    ask<ShutdownCompleted>(std::nullopt, ShutDown{grace}, [this](const ShutdownCompleted&) {
      world_->has_shut_down();
      state_->has_shut_down = true;
    });
  }

  void audit(const std::optional<CellKey>& after,
             const std::shared_ptr<std::vector<CellStatus>>& listed) {
    const auto number = world_->audit_asked();
    ask<CellsListed>(number, ListCells{after, listed_max_},
                     [this, number, listed](const CellsListed& page) {
                       world_->audit_answered(number, page.cells);
                       listed->insert(listed->end(), page.cells.begin(), page.cells.end());
                       if (page.more_after) return audit(page.more_after, listed);
                       state_->cells = *listed;
                     });
  }

  std::shared_ptr<World> world_;
  CellDispatcher dispatcher_;
  Retention retention_;
  std::size_t listed_max_;
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
                        CellDispatcher dispatcher, Retention retention, std::size_t listed_max,
                        std::shared_ptr<ClientState> state) {
  return system.spawn<Client>(std::move(world), std::move(dispatcher), std::move(retention),
                              listed_max, std::move(state));
}

}  // namespace simulation
