#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "tests/torture/simulation/actors.hpp"

namespace simulation {
namespace {

constexpr std::uint64_t pause_ms_max = 400;
constexpr std::uint64_t gentle_us_max = 10'000;
constexpr std::uint64_t wait_ms_max = 3000;
constexpr std::size_t requests_max = 2;  ///< Of one worker at once.
constexpr std::size_t held_max = 6;
constexpr std::size_t past_max = 20;
constexpr std::uint64_t late_us_max = 500'000;
/// No run hands out so many leases: the API never gives the name of one job's lease to another.
constexpr std::uint64_t never_reached = 1'000'000;
/// How soon the API notices that a client has hung up.
constexpr std::uint64_t noticed_ms_max = 1000;

const std::vector<std::string> services = {"alpha", "beta", "gamma"};

/// Plays all workers outside, and the API between them and the engine. Its state outlives the
/// daemon, like the workers.
class WorkersActor : public caf::event_based_actor {
 public:
  WorkersActor(caf::actor_config& config, std::shared_ptr<World> world, CellDispatcher dispatcher,
               std::shared_ptr<Workers> workers, std::shared_ptr<ClientState> state)
      : event_based_actor(config),
        world_(std::move(world)),
        dispatcher_(std::move(dispatcher)),
        workers_(std::move(workers)),
        state_(std::move(state)) {}

  caf::behavior make_behavior() override {
    for (auto& worker : workers_->each) return_to_work(worker);
    return {
        [this](const WorkersTick& tick) { do_due(tick.at); },
        [this](const WorkersStop&) {
          stopped_ = true;
          due_.clear();
          withdraw_all();
        },
    };
  }

  void on_exit() override {
    dispatcher_ = nullptr;
    due_.clear();
  }

 private:
  using Action = std::function<void()>;

  Dice& dice() { return world_->dice; }
  SteadyTime now() const { return world_->now_steady; }
  microseconds below_ms(std::uint64_t ms) { return microseconds{dice().below(ms * 1000)}; }

  // --- Time ------------------------------------------------------------------------------------

  void schedule(microseconds in, Action action) {
    if (stopped_) return;
    const SteadyTime at = now() + std::max(in, microseconds{0});
    due_.emplace(at, std::move(action));
    delayed_send(this, at - now(), WorkersTick{at});
  }

  void do_due(SteadyTime at) {
    while (!due_.empty() && due_.begin()->first <= at) {
      const Action action = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      action();
    }
  }

  // --- What a worker does next -----------------------------------------------------------------

  /// The daemon has started, perhaps again: some workers have started again with it, and have
  /// forgotten their leases.
  void return_to_work(Worker& worker) {
    worker.asking = 0;
    if (dice().one_in(3)) {
      worker.held.clear();
      schedule(below_ms(pause_ms_max), [this, &worker] { list(worker); });
    }
    const auto held = worker.held;  // A worker may forget some.
    for (const auto& [lease, out] : held) work_on(worker, out);
    schedule(below_ms(pause_ms_max), [this, &worker] { act(worker); });
  }

  void act(Worker& worker) {
    const bool free = worker.asking < requests_max && worker.held.size() < held_max;
    if (world_->is_shutting_down()) {
      withdraw_all();
    } else if (free && (world_->gentle || !dice().one_in(3))) {
      ask(worker);
    }
    if (dice().one_in(10)) list(worker);
    if (world_->may(Fault::stale_report) && dice().one_in(4)) bother(worker);
    schedule(below_ms(world_->gentle ? pause_ms_max / 4 : pause_ms_max),
             [this, &worker] { act(worker); });
  }

  /// Sends something about a lease that is over, of another worker, or of none.
  void bother(Worker& worker) {
    const auto& jobs = world_->disk->jobs();
    if (dice().one_in(3) && !jobs.empty()) {
      const auto chosen =
          std::next(jobs.begin(), static_cast<std::ptrdiff_t>(dice().below(jobs.size())));
      Lease made_up = chosen->second.job->lease;
      if (dice().one_in(2)) made_up.counter += never_reached;
      return dice().one_in(2) ? report(nullptr, made_up, chosen->first, dice().one_in(2))
                              : extend(nullptr, made_up, chosen->first);
    }
    auto& other = workers_->each[dice().below(workers_->each.size())];
    if (dice().one_in(3) && !other.held.empty()) {
      const LeaseOut& held = other.held.begin()->second;
      return report(&worker, held.job->lease, held.job->id, dice().one_in(2));
    }
    if (workers_->past.empty()) return;
    const PastLease past = workers_->past[dice().below(workers_->past.size())];
    if (dice().one_in(4)) return extend(nullptr, past.lease, past.job);
    report(nullptr, past.lease, past.job, dice().one_in(4) ? !past.succeeded : past.succeeded);
  }

  // --- Asking for leases -----------------------------------------------------------------------

  void ask(Worker& worker) {
    RequestLeases order;
    order.request = ++workers_->last_request;
    order.service = dice().one_of(services);
    order.worker = worker.plan.name;
    order.customer = worker.plan.customer;
    order.max = worker.plan.leases_max;
    order.wait = world_->gentle || !dice().one_in(3);
    const bool hangs_up = world_->may(Fault::silent_worker) && dice().one_in(5);
    world_->leases_asked(order);
    worker.asking += 1;
    if (order.wait) {
      waiting_.insert(order.request);
      schedule(hangs_up ? below_ms(noticed_ms_max) : below_ms(wait_ms_max),
               [this, number = order.request] { withdraw({number}); });
    }
    ask_engine<LeasesGranted>(
        order,
        [this, &worker, number = order.request, hangs_up](const LeasesGranted& answer) {
          worker.asking -= 1;
          waiting_.erase(number);
          granted(worker, number, answer, hangs_up);
        },
        [this, &worker, number = order.request] {
          worker.asking -= 1;
          waiting_.erase(number);
          world_->leases_failed(number);
        });
  }

  /// The API returns what it cannot deliver; what it has sent to a worker that is gone is lost.
  void granted(Worker& worker, std::uint64_t number, const LeasesGranted& answer, bool hangs_up) {
    const bool notices = hangs_up && !dice().one_in(3);
    if (notices) {
      ReturnLeases back;
      for (const auto& lease : answer.leases) {
        back.leases.push_back(lease.job->lease);
        world_->lease_returned(lease.job->lease);
      }
      world_->leases_answered(number, answer, false);
      if (!back.leases.empty()) send(dispatcher_, std::move(back));
      return;
    }
    world_->leases_answered(number, answer, true);
    for (const auto& lease : answer.leases) {
      if (!hangs_up) take_up(worker, lease);
    }
  }

  void withdraw(std::vector<std::uint64_t> requests) {
    for (const auto request : requests) {
      world_->leases_withdrawn(request);
      waiting_.erase(request);
    }
    send(dispatcher_, WithdrawRequests{std::move(requests)});
  }

  void withdraw_all() {
    if (!waiting_.empty()) withdraw({waiting_.begin(), waiting_.end()});
  }

  void list(Worker& worker) {
    const auto number = world_->list_asked(worker.plan.name);
    ListLeases order;
    order.worker = worker.plan.name;
    order.limit = 1000;
    ask_engine<LeasesListed>(
        order,
        [this, &worker, number](const LeasesListed& answer) {
          world_->list_answered(number, answer);
          for (const auto& lease : answer.leases) {
            if (worker.held.contains(lease.job->lease)) continue;
            world_->lease_found(lease);
            take_up(worker, lease);
          }
        },
        [this, number] { world_->use_failed(number); });
  }

  // --- Working ---------------------------------------------------------------------------------

  void take_up(Worker& worker, const LeaseOut& lease) {
    worker.held[lease.job->lease] = lease;
    work_on(worker, lease);
  }

  /// Draws what the worker does with the lease. Reports and heartbeats come at any time, even
  /// at the deadline.
  void work_on(Worker& worker, const LeaseOut& held) {
    const Lease lease = held.job->lease;
    const JobId job = held.job->id;
    const microseconds left = std::max(held.deadline - now(), microseconds{1000});
    const microseconds at_any_time{dice().below(static_cast<std::uint64_t>(left.count()))};
    const microseconds at_the_end = left - microseconds{2000} + microseconds{dice().below(4000)};
    const bool succeeds = world_->gentle || !dice().one_in(3);
    const auto report_in = [&](microseconds in, bool outcome) {
      schedule(in, [this, &worker, lease, job, outcome] { report(&worker, lease, job, outcome); });
    };
    const auto hold_in = [&](microseconds in) {
      schedule(in, [this, &worker, lease, job] { extend(&worker, lease, job); });
    };
    if (world_->gentle) return report_in(microseconds{dice().below(gentle_us_max)}, true);
    const std::uint64_t die = dice().below(12);
    if (die < 4) return report_in(at_any_time, succeeds);
    if (die < 6) return hold_in(at_any_time);
    if (die == 6) return report_in(at_the_end, succeeds);
    if (die == 7) return hold_in(at_the_end);
    if (die < 10 && world_->may(Fault::silent_worker)) {
      if (die == 9) return vanish(worker, lease);
      const microseconds late{dice().below(late_us_max)};
      return dice().one_in(2) ? report_in(left + late, succeeds) : hold_in(left + late);
    }
    report_in(at_any_time, succeeds);
    if (die < 10 || !world_->may(Fault::stale_report)) return;
    report_in(at_any_time + microseconds{dice().below(20'000)}, die == 10 ? succeeds : !succeeds);
  }

  void vanish(Worker& worker, Lease lease) {
    world_->note(worker.plan.name + " forgets " + to_string(lease));
    worker.held.erase(lease);
  }

  void extend(Worker* worker, Lease lease, JobId job) {
    ExtendLease order;
    order.lease = lease;
    if (dice().one_in(3)) order.progress = 0.5;
    if (dice().one_in(5)) order.message = "half way";
    hold_once(worker, order, job, world_->extension_asked(lease, job));
  }

  void hold_once(Worker* worker, const ExtendLease& order, JobId job, std::uint64_t number) {
    ask_engine<LeaseExtended>(
        order,
        [this, worker, order, job, number](const LeaseExtended& answer) {
          const JobPtr stored = answer.lease || order.job ? nullptr : look_up(job, order.lease);
          if (stored) {
            ExtendLease again = order;
            again.job = stored;
            return hold_once(worker, again, job, number);
          }
          world_->extension_answered(number, answer);
          if (worker) was_held(*worker, order.lease, answer);
        },
        [this, number] { world_->use_failed(number); });
  }

  void was_held(Worker& worker, Lease lease, const LeaseExtended& answer) {
    const auto held = worker.held.find(lease);
    if (held == worker.held.end()) return;
    if (!answer.lease) return void(worker.held.erase(held));
    held->second = *answer.lease;
    const bool gives_up = answer.cancel && !dice().one_in(3);
    if (gives_up) return report(&worker, lease, answer.lease->job->id, dice().one_in(2));
    work_on(worker, held->second);
  }

  void report(Worker* worker, Lease lease, JobId job, bool succeeded) {
    EndLease order;
    order.lease = lease;
    order.outcome = outcome(succeeded);
    report_once(worker, order, job, succeeded, world_->report_asked(lease, job, succeeded));
  }

  void report_once(Worker* worker, const EndLease& order, JobId job, bool succeeded,
                   std::uint64_t number) {
    ask_engine<LeaseEnded>(
        order,
        [this, worker, order, job, succeeded, number](const LeaseEnded& answer) {
          bool accepted = answer.accepted;
          if (!accepted) {
            const JobPtr stored = order.job ? nullptr : look_up(job, order.lease);
            if (stored) {
              EndLease again = order;
              again.job = stored;
              return report_once(worker, again, job, succeeded, number);
            }
            accepted = was_reported(job, {order.lease, succeeded});
          }
          world_->report_answered(number, accepted);
          if (accepted) remember({order.lease, job, succeeded});
          if (worker) worker->held.erase(order.lease);
        },
        [this, worker, order, job, succeeded, number] {
          world_->use_failed(number);
          if (!worker) return;
          schedule(below_ms(pause_ms_max), [this, worker, lease = order.lease, job, succeeded] {
            report(worker, lease, job, succeeded);
          });
        });
  }

  void remember(const PastLease& past) {
    workers_->past.push_back(past);
    if (workers_->past.size() > past_max) workers_->past.pop_front();
  }

  CallOutcome outcome(bool succeeded) {
    CallOutcome result;
    if (succeeded) {
      result.kind = CallOutcome::Kind::succeeded;
      result.properties["result"] = "1";
      return result;
    }
    result.kind = dice().one_in(4) ? CallOutcome::Kind::rejected : CallOutcome::Kind::retryable;
    result.code = "worker_error";
    result.message = "simulated";
    if (dice().one_in(3)) result.retry_after = milliseconds{dice().below(3000)};
    return result;
  }

  // --- The API ---------------------------------------------------------------------------------

  /// The job, if the store shows that it is running under the lease, which a worker outside has.
  JobPtr look_up(JobId id, Lease lease) const {
    const auto& jobs = world_->disk->jobs();
    const auto found = jobs.find(id);
    if (found == jobs.end()) return nullptr;
    const JobPtr& job = found->second.job;
    const bool holds = job->state == JobState::running && job->lease == lease &&
                       !job->steps[job->step].worker.empty();
    return holds ? job : nullptr;
  }

  bool was_reported(JobId id, const StepReport& report) const {
    const auto& jobs = world_->disk->jobs();
    const auto found = jobs.find(id);
    if (found == jobs.end()) return false;
    const auto& steps = found->second.job->steps;
    return std::any_of(steps.begin(), steps.end(),
                       [&](const Step& step) { return step.report == report; });
  }

  template <class Answer, class Question, class Then>
  void ask_engine(const Question& question, const Then& then, const Action& failed) {
    state_->unanswered += 1;
    request(dispatcher_, caf::infinite, question)
        .then(
            [this, then](const Answer& answer) {
              state_->unanswered -= 1;
              then(answer);
            },
            [this, failed](const caf::error&) {
              state_->unanswered -= 1;
              failed();
            });
  }

  std::shared_ptr<World> world_;
  CellDispatcher dispatcher_;
  std::shared_ptr<Workers> workers_;
  std::shared_ptr<ClientState> state_;
  std::multimap<SteadyTime, Action> due_;
  std::set<std::uint64_t> waiting_;  ///< Requests that wait, and are not withdrawn.
  bool stopped_ = false;
};

}  // namespace

caf::actor spawn_workers(caf::actor_system& system, std::shared_ptr<World> world,
                         CellDispatcher dispatcher, std::shared_ptr<Workers> workers,
                         std::shared_ptr<ClientState> state) {
  return system.spawn<WorkersActor>(std::move(world), std::move(dispatcher), std::move(workers),
                                    std::move(state));
}

}  // namespace simulation
