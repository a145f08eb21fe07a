#include "cells/actors/cell_dispatcher.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cells/actors/cell.hpp"
#include "cells/actors/owed_answers.hpp"
#include "cells/actors/service_client.hpp"
#include "cells/model/admission.hpp"
#include "cells/model/job_machine.hpp"

namespace cells {
namespace {

constexpr std::size_t routes_page = 1000;
constexpr std::size_t moved_batch = 1000;

/// Owns the cells by their keys; knows nothing of the jobs in them.
class CellDispatcherActor : public CellDispatcher::base {
 public:
  CellDispatcherActor(caf::actor_config& config, EngineOptions options)
      : CellDispatcher::base(config), options_(std::move(options)) {
    set_down_handler([this](caf::down_msg& down) {
      // A cell or a service client holds what its halves need to be restarted; it must not die.
      if (!draining_) quit(down.reason ? down.reason : caf::exit_reason::unknown);
    });
  }

  behavior_type make_behavior() override {
    begin();
    return {
        [this](SubmitJob& message) { return submit(message); },
        [this](CancelJob& message) { return cancel(message); },
        [this](RetryJob& message) { return retry(message); },
        [this](const DescribeCell& message) { return describe(message.cell); },
        [this](const ListCells& message) { return list(message); },
        [this](const ResizePool& message) { return resize(message); },
        [this](const ChangeCellState& message) { return change_state(message); },
        [this](const Drain& message) { return drain(message.grace); },
        [this](const CellRanDry& message) { close_if_idle(message.cell); },
        [this](const Tick&) { hand_back(); },
    };
  }

  void on_exit() override {
    for (const auto& [key, entry] : cells_)
      caf::anon_send_exit(entry.cell, caf::exit_reason::user_shutdown);
    cells_.clear();
    if (context_) {
      for (const auto& [name, service] : context_->services) {
        caf::anon_send_exit(service.client, caf::exit_reason::user_shutdown);
      }
      context_->services.clear();
    }
    drained_.fail();
    options_ = {};
    context_ = nullptr;
  }

 private:
  struct Entry {
    Cell cell;
    bool closing = false;  ///< Asked whether it is idle; requests wait in `held`.
    std::vector<std::function<void()>> held;
  };

  const Routing& routing() const { return *options_.routing; }

  // --- Starting --------------------------------------------------------------------------------

  template <class Reply, class Ask, class Then>
  void ask_first(Ask ask, Then then) {
    request(options_.store, caf::infinite, std::move(ask))
        .await([this, then](Reply& reply) { then(reply); },
               [this](const caf::error& error) { quit(error); });
  }

  void begin() {
    ask_first<EpochStarted>(StartEpoch{}, [this](const EpochStarted& started) {
      context_ = std::make_shared<EngineContext>(options_, started.epoch);
      context_->ids.start_after(started.last_id);
      for (const auto& [name, entry] : options_.services) {
        const Provider client = spawn_service_client(system(), name, entry, options_.probe);
        monitor(client);
        context_->services.emplace(name, Service{client, entry.settle});
      }
      check_routes(ListRoutes{std::nullopt, "", "", routes_page});
    });
  }

  /// Jobs whose cell is another now than when they were stored move there; those that no cell
  /// matches stay where they are and wait for a configuration that has one.
  void check_routes(const ListRoutes& ask) {
    ask_first<RoutesListed>(ask, [this](const RoutesListed& listed) {
      for (const auto& stored : listed.routes) {
        const auto route = routing().find(stored.customer, stored.product);
        if (route && route->cell != stored.cell) {
          moves_.push_back({stored, route->cell, moved_batch});
        }
      }
      if (listed.routes.size() < routes_page) {
        move_next();
      } else {
        const StoredRoute& last = listed.routes.back();
        check_routes({last.cell, last.customer, last.product, routes_page});
      }
    });
  }

  void move_next() {
    if (moves_.empty()) {
      load_cells();
      return;
    }
    ask_first<JobsMoved>(moves_.back(), [this](const JobsMoved& result) {
      if (result.moved < moved_batch) moves_.pop_back();
      move_next();
    });
  }

  void load_cells() {
    ask_first<CellsLoaded>(LoadCells{}, [this](const CellsLoaded& loaded) {
      overrides_ = loaded.overrides;
      for (const auto& [key, rule] : routing().rules()) {
        if (!rule.is_template()) start_cell(key, rule);
      }
      for (const auto& key : loaded.with_jobs) start_instance(key);
      for (const auto& [key, change] : loaded.overrides) start_instance(key);
    });
  }

  void start_instance(const CellKey& key) {
    const CellRule* rule = routing().rule_of(key);
    const bool is_template = rule && rule->is_template() && routing().rules().contains(key);
    if (rule && !is_template && !cells_.contains(key)) start_cell(key, *rule);
  }

  Entry& start_cell(const CellKey& key, const CellRule& rule) {
    CellSettings settings{key, quota_of(rule), override_of(key), rule.is_template()};
    Entry entry{spawn_cell(system(), context_, std::move(settings), this), false, {}};
    monitor(entry.cell);
    if (rule.is_template()) instances_[template_key(rule)] += 1;
    return cells_.emplace(key, std::move(entry)).first->second;
  }

  static CellKey template_key(const CellRule& rule) { return {rule.customer, rule.product}; }

  /// An instance starts from its template's pool size, as overridden.
  CellQuota quota_of(const CellRule& rule) const {
    CellQuota quota = rule.quota;
    if (rule.is_template()) {
      quota.pool_size = override_of(template_key(rule)).pool_size.value_or(quota.pool_size);
    }
    return quota;
  }

  CellOverride override_of(const CellKey& key) const {
    const auto found = overrides_.find(key);
    return found == overrides_.end() ? CellOverride{} : found->second;
  }

  // --- Jobs --------------------------------------------------------------------------------------

  /// A refusal is the last word only if the idempotency key, where there is one, is new.
  caf::result<JobSubmitted> submit(SubmitJob& message) {
    const JobSpec& spec = message.request.spec;
    auto target = enter_cell(spec.customer, spec.product);
    if (!message.request.idempotency) {
      if (target.refusal) return JobSubmitted{nullptr, std::move(target.refusal), false};
      return pass_on<JobSubmitted>(*target.entry, std::move(message));
    }
    auto promise = make_response_promise<JobSubmitted>();
    const FindKeyHolder question{spec.customer, *message.request.idempotency};
    if (target.refusal) {
      refuse_unless_held(question, std::move(*target.refusal), promise);
      return promise;
    }
    put<JobSubmitted>(*target.entry, std::move(message), promise,
                      [this, question, promise](JobSubmitted& answer) mutable {
                        if (answer.refusal) {
                          refuse_unless_held(question, std::move(*answer.refusal), promise);
                        } else {
                          promise.deliver(std::move(answer));
                        }
                      });
    return promise;
  }

  void refuse_unless_held(const FindKeyHolder& question, Refusal refusal,
                          caf::typed_response_promise<JobSubmitted> promise) {
    request(options_.store, caf::infinite, question)
        .then(
            [promise, refusal = std::move(refusal)](KeyHolder& holder) mutable {
              if (holder.job && holder.same_request) {
                promise.deliver(JobSubmitted{std::move(holder.job), std::nullopt, true});
              } else {
                if (holder.job) refusal = refuse_reused_key(refusal.cell);
                promise.deliver(JobSubmitted{nullptr, std::move(refusal), false});
              }
            },
            [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
  }

  caf::result<CancelAnswered> cancel(CancelJob& message) {
    const auto found = cells_.find(message.job->cell);
    if (found != cells_.end()) return pass_on<CancelAnswered>(found->second, std::move(message));
    return cancel_homeless(message.job);
  }

  caf::result<RetryAnswered> retry(RetryJob& message) {
    const JobSpec& spec = *message.job->spec;
    auto target = enter_cell(spec.customer, spec.product);
    if (target.refusal) return RetryAnswered{nullptr, false, std::move(target.refusal)};
    return pass_on<RetryAnswered>(*target.entry, std::move(message));
  }

  /// Cancels a job whose cell is not configured any more: nobody else does anything with it.
  caf::result<CancelAnswered> cancel_homeless(const JobPtr& job) {
    auto promise = make_response_promise<CancelAnswered>();
    const WallTime now = options_.wall_clock();
    request(options_.store, caf::infinite, CancelWaiting{job->id, job->cell, now})
        .then(
            [this, promise, now](WaitingCancelled& result) mutable {
              if (!result.after && result.before && result.before->state == JobState::running) {
                cancel_abandoned(result.before, now, promise);
                return;
              }
              if (result.after) tell(*context_, result.after);
              const bool accepted = result.after != nullptr;
              promise.deliver(CancelAnswered{accepted ? result.after : result.before, accepted});
            },
            [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
    return promise;
  }

  /// The same for one that was running when celld crashed. Its attempt ended with that.
  void cancel_abandoned(const JobPtr& job, WallTime now,
                        caf::typed_response_promise<CancelAnswered> promise) {
    AttemptEnd end;
    end.kind = AttemptEnd::Kind::interrupted;
    const auto after =
        std::make_shared<const Job>(end_attempt(request_cancel(*job), std::move(end), {}, now));
    request(options_.store, caf::infinite, RecordJob{job->lease, after})
        .then(
            [this, promise, after](const JobRecorded& result) mutable {
              if (result.applied) tell(*context_, after);
              promise.deliver(CancelAnswered{after, result.applied});
            },
            [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
  }

  // --- Requests to cells -------------------------------------------------------------------------

  /// A cell to go to, or why there is none.
  struct Target {
    Entry* entry = nullptr;
    std::optional<Refusal> refusal;
  };

  /// The cell that the routing names, started if need be.
  Target enter_cell(const std::string& customer, const std::string& product) {
    if (draining_) return {nullptr, refusal(Refusal::Kind::draining, {}, 0)};
    const auto route = routing().find(customer, product);
    if (!route) return {nullptr, refusal(Refusal::Kind::no_cell, {customer, product}, 0)};
    if (const auto found = cells_.find(route->cell); found != cells_.end()) {
      return {&found->second, std::nullopt};
    }
    const std::uint32_t instances_max = options_.instances_max;
    if (instances_[template_key(*route->rule)] >= instances_max) {
      return {nullptr, refusal(Refusal::Kind::too_many_cells, route->cell, instances_max)};
    }
    return {&start_cell(route->cell, *route->rule), std::nullopt};
  }

  static Refusal refusal(Refusal::Kind kind, CellKey cell, std::uint64_t limit) {
    return {kind, std::move(cell), limit, limit, std::chrono::seconds{1}};
  }

  /// Lets the cell answer; if it may be about to close, when that is decided.
  template <class Answer, class Message>
  caf::result<Answer> pass_on(Entry& entry, Message message) {
    if (!entry.closing) return delegate(entry.cell, std::move(message));
    auto promise = make_response_promise<Answer>();
    put<Answer>(entry, std::move(message), promise,
                [promise](Answer& answer) mutable { promise.deliver(std::move(answer)); });
    return promise;
  }

  /// Asks the cell, or, if it may be about to close, ourselves again when that is decided.
  template <class Answer, class Message, class Then>
  void put(Entry& entry, Message message, caf::typed_response_promise<Answer> promise, Then then) {
    const auto fail = [promise](caf::error& error) mutable { promise.deliver(std::move(error)); };
    if (!entry.closing) {
      request(entry.cell, caf::infinite, std::move(message)).then(std::move(then), fail);
      return;
    }
    entry.held.emplace_back([this, message = std::move(message), then = std::move(then), fail] {
      request(caf::actor_cast<CellDispatcher>(this), caf::infinite, message).then(then, fail);
    });
  }

  // --- Instances that have nothing to do -------------------------------------------------------

  void close_if_idle(const CellKey& key) {
    const auto found = cells_.find(key);
    if (found == cells_.end() || found->second.closing || draining_) return;
    found->second.closing = true;
    request(found->second.cell, caf::infinite, AskIdle{})
        .then([this, key](const IdleAnswered& answer) { close_answered(key, answer.idle); },
              [this, key](const caf::error&) { close_answered(key, false); });
  }

  void close_answered(const CellKey& key, bool idle) {
    const auto found = cells_.find(key);
    if (found == cells_.end()) return;
    auto held = std::exchange(found->second.held, {});
    found->second.closing = false;
    if (idle) {
      demonitor(found->second.cell.address());
      send_exit(found->second.cell, caf::exit_reason::user_shutdown);
      cells_.erase(found);
      const auto route = routing().rule_of(key);
      if (route) instances_[template_key(*route)] -= 1;
    }
    for (const auto& ask_again : held) ask_again();
  }

  // --- Telling ---------------------------------------------------------------------------------

  /// A template that has no cell of its own tells what its instances start from.
  std::optional<CellStatus> describe_template(const CellKey& key) const {
    const auto found = routing().rules().find(key);
    if (found == routing().rules().end() || !found->second.is_template()) return std::nullopt;
    CellStatus status;
    status.key = key;
    status.is_template = true;
    status.quota = found->second.quota;
    status.pool.target = quota_of(found->second).pool_size;
    status.changed = override_of(key);
    return status;
  }

  caf::result<CellDescribed> describe(const CellKey& key) {
    const auto found = cells_.find(key);
    if (found == cells_.end()) return CellDescribed{describe_template(key)};
    return delegate(found->second.cell, DescribeCell{key});
  }

  /// Gathers the answers of one page of cells.
  struct Gathering {
    std::map<CellKey, CellStatus> cells;
    std::size_t missing = 0;
    bool more = false;
    caf::typed_response_promise<CellsListed> promise;
  };

  caf::result<CellsListed> list(const ListCells& message) {
    std::set<CellKey> keys;
    const CellKey first{message.customer.value_or(""), ""};
    const auto after = [&](const auto& map) {
      return message.after && *message.after > first ? map.upper_bound(*message.after)
                                                     : map.lower_bound(first);
    };
    const auto asked_for = [&](const CellKey& key) {
      return !message.customer || key.customer == *message.customer;
    };
    const std::size_t wanted = message.limit + 1;
    for (auto it = after(cells_);
         it != cells_.end() && keys.size() < wanted && asked_for(it->first); ++it) {
      keys.insert(it->first);
    }
    for (auto it = after(routing().rules()); it != routing().rules().end() && asked_for(it->first);
         ++it) {
      if (it->second.is_template()) keys.insert(it->first);
    }
    auto gathering = std::make_shared<Gathering>();
    gathering->promise = make_response_promise<CellsListed>();
    gathering->more = keys.size() > message.limit;
    while (keys.size() > message.limit) keys.erase(std::prev(keys.end()));
    gathering->missing = keys.size() + 1;
    for (const auto& key : keys) gather(key, gathering);
    gathered(*gathering);
    return gathering->promise;
  }

  void gather(const CellKey& key, const std::shared_ptr<Gathering>& gathering) {
    const auto found = cells_.find(key);
    if (found == cells_.end()) {
      if (auto status = describe_template(key)) gathering->cells.emplace(key, std::move(*status));
      gathered(*gathering);
      return;
    }
    request(found->second.cell, caf::infinite, DescribeCell{key})
        .then(
            [gathering, key](CellDescribed& described) {
              if (described.status) gathering->cells.emplace(key, std::move(*described.status));
              gathered(*gathering);
            },
            [gathering](const caf::error&) { gathered(*gathering); });
  }

  static void gathered(Gathering& gathering) {
    if (--gathering.missing > 0) return;
    CellsListed listed;
    listed.more = gathering.more;
    for (auto& [key, status] : gathering.cells) listed.cells.push_back(std::move(status));
    gathering.promise.deliver(std::move(listed));
  }

  // --- Changes by an administrator -------------------------------------------------------------

  caf::result<CellDescribed> resize(const ResizePool& message) {
    const auto found = cells_.find(message.cell);
    CellOverride change = override_of(message.cell);
    change.pool_size = message.size;
    if (found == cells_.end()) return resize_template(message.cell, change);
    remember_override(message.cell, change);
    return pass_on<CellDescribed>(found->second, message);
  }

  /// Instances that are there keep their size.
  caf::result<CellDescribed> resize_template(const CellKey& key, const CellOverride& change) {
    if (!describe_template(key)) return CellDescribed{};
    auto promise = make_response_promise<CellDescribed>();
    request(options_.store, caf::infinite, SetCellOverride{key, change})
        .then(
            [this, promise, key, change](const CellOverrideSet&) mutable {
              remember_override(key, change);
              promise.deliver(CellDescribed{describe_template(key)});
            },
            [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
    return promise;
  }

  caf::result<CellDescribed> change_state(const ChangeCellState& message) {
    const auto found = cells_.find(message.cell);
    if (found == cells_.end()) return CellDescribed{describe_template(message.cell)};
    CellOverride change = override_of(message.cell);
    change.state = message.state;
    remember_override(message.cell, change);
    return pass_on<CellDescribed>(found->second, message);
  }

  void remember_override(const CellKey& key, const CellOverride& change) {
    if (change.is_none()) {
      overrides_.erase(key);
    } else {
      overrides_[key] = change;
    }
  }

  // --- Stopping --------------------------------------------------------------------------------

  /// Stops every cell gracefully; whatever is left when the grace is over is handed back.
  caf::result<Drained> drain(milliseconds grace) {
    auto promise = drained_.add(make_response_promise<Drained>());
    if (draining_) return promise;
    draining_ = true;
    stopping_cells_ = cells_.size() + 1;
    for (const auto& [key, entry] : cells_) {
      request(entry.cell, caf::infinite, GracefulStop{})
          .then([this](const Stopped&) { cell_stopped(); },
                [this](const caf::error&) { cell_stopped(); });
    }
    delayed_send(this, grace, Tick{});
    cell_stopped();
    return promise;
  }

  void cell_stopped() {
    if (--stopping_cells_ == 0) hand_back();
  }

  /// Also when nothing runs any more: the answer says that every end is recorded.
  void hand_back() {
    if (handing_back_) return;
    handing_back_ = true;
    handing_back_cells_ = cells_.size() + 1;
    for (const auto& [key, entry] : cells_) {
      request(entry.cell, caf::infinite, HandBack{})
          .then([this](const HandedBack& answer) { cell_handed_back(answer.count); },
                [this](const caf::error&) { cell_handed_back(0); });
    }
    cell_handed_back(0);
  }

  void cell_handed_back(std::size_t count) {
    handed_back_ += count;
    if (--handing_back_cells_ > 0) return;
    request(options_.store, caf::infinite, FlushStore{})
        .then([this](const StoreFlushed&) { drained_.deliver(Drained{handed_back_}); },
              [this](const caf::error&) { drained_.fail(); });
  }

  EngineOptions options_;
  ContextPtr context_;
  std::vector<MoveJobs> moves_;
  std::map<CellKey, Entry> cells_;
  std::map<CellKey, CellOverride> overrides_;
  std::map<CellKey, std::uint32_t> instances_;  ///< Of each template.
  bool draining_ = false;
  std::size_t stopping_cells_ = 0;
  bool handing_back_ = false;
  std::size_t handing_back_cells_ = 0;
  std::size_t handed_back_ = 0;
  OwedAnswers<Drained> drained_;
};

}  // namespace

CellDispatcher spawn_cell_dispatcher(caf::actor_system& system, EngineOptions options) {
  return system.spawn<CellDispatcherActor>(std::move(options));
}

}  // namespace cells
