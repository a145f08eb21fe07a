#include "cells/actors/cell.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cells/actors/job_dispatcher.hpp"
#include "cells/actors/job_worker_pool.hpp"
#include "cells/actors/owed_answers.hpp"
#include "cells/actors/pool_change.hpp"
#include "cells/model/pool_terms.hpp"

namespace cells {
namespace {

/// Owns a dispatcher, a pool, and the pool's size; decides nothing about jobs.
class CellActor : public Cell::base {
 public:
  CellActor(caf::actor_config& config, ContextPtr context, CellSetup setup, CellDispatcher owner)
      : Cell::base(config),
        context_(std::move(context)),
        setup_(std::move(setup)),
        wanted_(setup_.changed),
        owner_(std::move(owner)) {
    set_down_handler([this](caf::down_msg& down) { half_down(down.source); });
  }

  behavior_type make_behavior() override {
    context_->options.probe->spawned("cell", setup_.key, caf::actor_cast<caf::actor>(this));
    start();
    return {
        // CAF tries the handlers in this order, so those that each job needs come first.
        [this](SubmitJob& message) { return delegate(dispatcher_, std::move(message)); },
        [this](const GrantLeases& message) { return delegate(dispatcher_, message); },
        [this](const EndLease& message) { return ask_dispatcher<LeaseEnded>(message); },
        [this](const CancelJob& message) { return delegate(dispatcher_, message); },
        [this](const ReopenJob& message) { return delegate(dispatcher_, message); },
        [this](const DescribeCell&) { return describe(); },
        [this](const ResizePool& message) {
          wanted_ = changed_by(wanted_, message);
          return change();
        },
        [this](const ChangeCellState& message) {
          wanted_.state = message.state;
          return change();
        },
        [this](const ChangeQuota& message) {
          wanted_.quota = message.quota;
          return change();
        },
        [this](ConfigureCell& message) { return change_terms(message); },
        [this](const ChangeGuarantee& message) {
          setup_.config.guarantee = message.guarantee;
          put_in_force([] {});
        },
        [this](const SlotsBorrowed& message) {
          borrowed_ = message.count;
          if (!stopping_) caf::anon_send(pool_, Resize{workers()});
        },
        [this](const ReleaseJobs& message) { return ask_dispatcher<JobsReleased>(message); },
        [this](const TakeOver& message) { return ask_dispatcher<TakenOver>(message); },
        [this](const GrantPermits& message) { return delegate(dispatcher_, message); },
        [this](const DeclineSlot& message) { send(dispatcher_, message); },
        [this](const DescribeLane& message) { return ask_dispatcher<LaneDescribed>(message); },
        [this](const ReturnLeases& message) { send(dispatcher_, message); },
        [this](const ExtendLease& message) { return ask_dispatcher<LeaseExtended>(message); },
        [this](const JobsLeft& message) { send(owner_, message); },
        [this](const GracefulStop&) { return graceful_stop(); },
        [this](const HandBack& message) { return ask_dispatcher<HandedBack>(message); },
        [this](const AskIdle&) -> caf::result<IdleAnswered> {
          const bool overridden = !wanted_.is_none() || !setup_.changed.is_none();
          if (overridden && !setup_.config.leaving) return IdleAnswered{false};
          if (!owed_.empty()) {  // A cell that closed now would fail these requests.
            delayed_send(this, context_->options.idle_close, QueueIdle{});
            return IdleAnswered{false};
          }
          return delegate(dispatcher_, AskIdle{});
        },
        [this](const QueueIdle&) { send(owner_, CellIdle{setup_.key}); },
    };
  }

  void on_exit() override {
    caf::anon_send_exit(dispatcher_, caf::exit_reason::kill);
    caf::anon_send_exit(pool_, caf::exit_reason::kill);
    owed_.fail();
    dispatcher_ = nullptr;
    pool_ = nullptr;
    owner_ = nullptr;
    context_ = nullptr;
  }

 private:
  /// A cell that is no longer configured finishes what runs, and is guaranteed nothing.
  SlotTerms terms() const {
    const PoolTerms pool = pool_terms(setup_.config.settings, setup_.changed);
    if (setup_.config.leaving) return {0, 0, pool.weight};
    return {std::min(pool.size, setup_.config.guarantee), pool.burst, pool.weight};
  }

  /// The configuration, with the limits that an administrator set.
  CellConfig config() const {
    CellConfig config = setup_.config;
    config.settings = overridden(std::move(config.settings), setup_.changed.quota);
    return config;
  }

  std::uint32_t short_by() const {
    if (setup_.config.leaving) return 0;
    return pool_terms(setup_.config.settings, setup_.changed).size - terms().guarantee;
  }

  std::uint32_t workers() const { return terms().guarantee + borrowed_; }

  // --- The dispatcher and the pool -------------------------------------------------------------

  void start() {
    borrowed_ = 0;
    dispatcher_ = spawn_job_dispatcher(system(), context_, setup_.key,
                                       {config(), terms(), setup_.changed.state, Cell{this}});
    monitor(dispatcher_);
    start_pool();
  }

  void start_pool() {
    pool_ = spawn_job_worker_pool(system(), context_, setup_.key, dispatcher_);
    monitor(pool_);
    if (stopping_) {
      caf::anon_send(dispatcher_, StopDispatching{});
    } else {
      caf::anon_send(pool_, Resize{workers()});
    }
  }

  /// A pool that dies takes its workers with it, and the dispatcher deals with their jobs. When the
  /// dispatcher dies, the cell ends all workers before the successor reads the running jobs from
  /// the store, so that no worker can begin a call that the successor does not know of.
  void half_down(const caf::actor_addr& source) {
    if (source == pool_.address()) {
      start_pool();
      return;
    }
    if (source != dispatcher_.address()) return;
    context_->options.probe->cell_restarted(setup_.key);
    demonitor(pool_.address());
    request(pool_, caf::infinite, KillWorkers{})
        .await([this](const WorkersKilled&) { replace(); },
               [this](const caf::error&) { replace(); });
  }

  /// Checks first that the store still answers; without a store, every successor would die at its
  /// start. After the flush, all changes that the dead dispatcher stored and may not have reported
  /// are on disk.
  void replace() {
    send_exit(pool_, caf::exit_reason::user_shutdown);
    request(context_->options.store, caf::infinite, FlushStore{})
        .await(
            [this](const StoreFlushed&) {
              tell_changes_lost(*context_);
              start();
              send(owner_, CellRestarted{});
            },
            [this](const caf::error& error) { quit(error); });
  }

  // --- Requests --------------------------------------------------------------------------------

  /// If the dispatcher dies meanwhile, asks its successor.
  template <class Answer, class Question, class Then>
  void ask_until_answered(const Question& question, Then then) {
    request(dispatcher_, caf::infinite, question)
        .then(then, [this, question, then](const caf::error&) {
          ask_until_answered<Answer>(question, then);
        });
  }

  template <class Answer, class Question>
  caf::result<Answer> ask_dispatcher(const Question& question) {
    auto promise = make_response_promise<Answer>();
    ask_until_answered<Answer>(question, [this, owed = owed_.add(promise)](const Answer& answer) {
      owed_.deliver(owed, answer);
    });
    return promise;
  }

  caf::result<CellDescribed> describe() {
    auto promise = make_response_promise<CellDescribed>();
    describe_for(owed_.add(promise));
    return promise;
  }

  void describe_for(std::uint64_t owed) {
    ask_until_answered<QueueDescribed>(DescribeQueue{}, [this, owed](const QueueDescribed& queue) {
      owed_.deliver(owed, describe_with(queue));
    });
  }

  CellDescribed describe_with(const QueueDescribed& queue) const {
    CellStatus status;
    status.key = setup_.key;
    status.pool = {terms().guarantee,    queue.ready,      queue.busy, queue.retiring,
                   queue.loans.borrowed, queue.loans.lent, short_by()};
    status.queue = queue.queue;
    status.settings = setup_.config.settings;
    status.changed = setup_.changed;
    return {std::move(status)};
  }

  caf::result<CellDescribed> change_terms(ConfigureCell& message) {
    setup_.config = std::move(message.config);
    caf::anon_send(dispatcher_, ConfigureCell{config()});
    auto promise = make_response_promise<CellDescribed>();
    put_in_force([this, owed = owed_.add(promise)] { describe_for(owed); });
    return promise;
  }

  /// The change goes to disk first, then to the dispatcher, then to the workers. Once the request
  /// is answered, no job starts that the new size or state forbids, not even after a restart.
  caf::result<CellDescribed> change() {
    auto promise = make_response_promise<CellDescribed>();
    const auto owed = owed_.add(promise);
    request(context_->options.store, caf::infinite, SetCellOverride{setup_.key, wanted_})
        .then(
            [this, owed, changed = wanted_](const CellOverrideSet&) {
              const bool is_quota = changed.quota != setup_.changed.quota;
              setup_.changed = changed;
              if (is_quota) caf::anon_send(dispatcher_, ConfigureCell{config()});
              put_in_force([this, owed] { describe_for(owed); });
            },
            [this, owed](caf::error& error) { owed_.deliver(owed, std::move(error)); });
    return promise;
  }

  /// If the dispatcher dies meanwhile, its successor starts with the new settings.
  template <class Then>
  void put_in_force(Then then) {
    caf::anon_send(dispatcher_, SetCellState{setup_.changed.state});
    const auto apply = [this, then] { resize_pool(then); };
    request(dispatcher_, caf::infinite, LimitRunning{terms()})
        .then([apply](const RunningLimited&) { apply(); }, [apply](const caf::error&) { apply(); });
  }

  /// By the time the pool answers, it has sent WithdrawIdle to the dispatcher, so that a
  /// description no longer counts those workers as ready.
  template <class Then>
  void resize_pool(Then then) {
    if (stopping_) return then();
    request(pool_, caf::infinite, Resize{workers()})
        .then([then](const Resized&) { then(); },
              // The pool died; its successor starts with the new target.
              [then](const caf::error&) { then(); });
  }

  caf::result<Stopped> graceful_stop() {
    stopping_ = true;
    auto promise = make_response_promise<Stopped>();
    const auto owed = owed_.add(promise);
    request(dispatcher_, caf::infinite, StopDispatching{})
        .then([this, owed](const DispatchingStopped&) { stop_pool(owed); },
              [this, owed](const caf::error&) { stop_pool(owed); });
    return promise;
  }

  void stop_pool(std::uint64_t owed) {
    request(pool_, caf::infinite, GracefulStop{})
        .then([this, owed](const Stopped&) { owed_.deliver(owed, Stopped{}); },
              // A pool that died has no workers left.
              [this, owed](const caf::error&) { owed_.deliver(owed, Stopped{}); });
  }

  ContextPtr context_;
  CellSetup setup_;
  CellOverride wanted_;         ///< What was requested; in force once it is on disk.
  std::uint32_t borrowed_ = 0;  ///< Slots beyond the guarantee that the dispatcher has.
  CellDispatcher owner_;
  JobDispatcher dispatcher_;
  JobWorkerPool pool_;
  bool stopping_ = false;
  OpenPromises owed_;
};

}  // namespace

Cell spawn_cell(caf::actor_system& system, ContextPtr context, CellSetup setup,
                CellDispatcher owner) {
  return system.spawn<CellActor>(std::move(context), std::move(setup), std::move(owner));
}

}  // namespace cells
