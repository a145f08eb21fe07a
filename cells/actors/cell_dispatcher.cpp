#include "cells/actors/cell_dispatcher.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cells/actors/cell.hpp"
#include "cells/actors/owed_answers.hpp"
#include "cells/actors/service_client.hpp"

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
        [this](const DescribeCell& message) { return describe(message.cell); },
        [this](const ListCells& message) { return list(message); },
        [this](const ResizePool& message) { return resize(message); },
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
    bool closing = false;  ///< Asked whether it is idle; submissions wait in `held`.
    std::vector<std::pair<SubmitJob, caf::typed_response_promise<JobSubmitted>>> held;
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
      for (const auto& override : loaded.overrides) overrides_[override.cell] = override.size;
      for (const auto& [key, rule] : routing().rules()) {
        if (!rule.is_template()) start_cell(key, rule);
      }
      for (const auto& key : loaded.with_jobs) start_instance(key);
      for (const auto& override : loaded.overrides) start_instance(override.cell);
    });
  }

  void start_instance(const CellKey& key) {
    const CellRule* rule = routing().rule_of(key);
    const bool is_template = rule && rule->is_template() && routing().rules().contains(key);
    if (rule && !is_template && !cells_.contains(key)) start_cell(key, *rule);
  }

  Entry& start_cell(const CellKey& key, const CellRule& rule) {
    CellSettings settings{key, quota_of(rule), std::nullopt, rule.is_template()};
    if (const auto found = overrides_.find(key); found != overrides_.end()) {
      settings.pool_size_override = found->second;
    }
    Entry entry{spawn_cell(system(), context_, std::move(settings), this), false, {}};
    monitor(entry.cell);
    if (rule.is_template()) instances_[template_key(rule)] += 1;
    return cells_.emplace(key, std::move(entry)).first->second;
  }

  static CellKey template_key(const CellRule& rule) { return {rule.customer, rule.product}; }

  /// An instance starts from its template's pool size, as overridden.
  CellQuota quota_of(const CellRule& rule) const {
    CellQuota quota = rule.quota;
    const auto found = overrides_.find(template_key(rule));
    if (rule.is_template() && found != overrides_.end()) quota.pool_size = found->second;
    return quota;
  }

  // --- Submissions -----------------------------------------------------------------------------

  caf::result<JobSubmitted> submit(SubmitJob& message) {
    if (draining_) return refused(Refusal::Kind::draining, {}, 0);
    const JobSpec& spec = message.request.spec;
    const auto route = routing().find(spec.customer, spec.product);
    if (!route) return refused(Refusal::Kind::no_cell, {spec.customer, spec.product}, 0);
    auto found = cells_.find(route->cell);
    if (found == cells_.end()) {
      if (instances_[template_key(*route->rule)] >= options_.instances_max) {
        return refused(Refusal::Kind::too_many_cells, route->cell, options_.instances_max);
      }
      start_cell(route->cell, *route->rule);
      found = cells_.find(route->cell);
    }
    Entry& entry = found->second;
    if (!entry.closing) return delegate(entry.cell, std::move(message));
    auto promise = make_response_promise<JobSubmitted>();
    entry.held.emplace_back(std::move(message), promise);
    return promise;
  }

  static JobSubmitted refused(Refusal::Kind kind, CellKey cell, std::uint64_t limit) {
    Refusal refusal;
    refusal.kind = kind;
    refusal.cell = std::move(cell);
    refusal.limit = limit;
    refusal.depth = limit;
    refusal.retry_after = std::chrono::seconds{1};
    return {nullptr, std::move(refusal)};
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
    for (auto& [message, promise] : held) resubmit(std::move(message), promise);
  }

  void resubmit(SubmitJob message, caf::typed_response_promise<JobSubmitted> promise) {
    request(caf::actor_cast<CellDispatcher>(this), caf::infinite, std::move(message))
        .then([promise](JobSubmitted& answer) mutable { promise.deliver(std::move(answer)); },
              [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
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
    if (const auto set = overrides_.find(key); set != overrides_.end()) {
      status.pool_size_override = set->second;
    }
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
    const auto after = [&](const auto& map) {
      return message.after ? map.upper_bound(*message.after) : map.begin();
    };
    const std::size_t wanted = message.limit + 1;
    for (auto it = after(cells_); it != cells_.end() && keys.size() < wanted; ++it) {
      keys.insert(it->first);
    }
    for (auto it = after(routing().rules()); it != routing().rules().end(); ++it) {
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

  // --- Resizing --------------------------------------------------------------------------------

  caf::result<CellDescribed> resize(const ResizePool& message) {
    const auto found = cells_.find(message.cell);
    if (found == cells_.end()) return resize_template(message);
    remember_override(message.cell, message.size);
    return delegate(found->second.cell, message);
  }

  /// Instances that are there keep their size.
  caf::result<CellDescribed> resize_template(const ResizePool& message) {
    if (!describe_template(message.cell)) return CellDescribed{};
    auto promise = make_response_promise<CellDescribed>();
    request(options_.store, caf::infinite, SetPoolOverride{message.cell, message.size})
        .then(
            [this, promise, message](const PoolOverrideSet&) mutable {
              remember_override(message.cell, message.size);
              promise.deliver(CellDescribed{describe_template(message.cell)});
            },
            [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
    return promise;
  }

  void remember_override(const CellKey& key, std::optional<std::uint32_t> size) {
    if (size) {
      overrides_[key] = *size;
    } else {
      overrides_.erase(key);
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
  std::map<CellKey, std::uint32_t> overrides_;
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
