#include "tests/unit/cells/actors/fixture.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>

namespace cells_test {
namespace {

using ManualProvider = Provider::extend<caf::reacts_to<EndCall>, caf::reacts_to<DieWithCall>>;

PendingCall* find(Calls& calls, Lease lease) {
  auto& pending = calls.pending;
  const auto found = std::find_if(pending.begin(), pending.end(),
                                  [&](const auto& each) { return each.call.lease == lease; });
  return found == pending.end() ? nullptr : &*found;
}

caf::error died() {
  return caf::make_error(caf::sec::request_receiver_down);
}

/// Answers the call, or fails it as if its provider had died.
void end(Calls& calls, PendingCall& call, std::optional<CallOutcome> outcome) {
  const auto place = &call - calls.pending.data();
  PendingCall ended = std::move(call);
  calls.pending.erase(calls.pending.begin() + place);
  if (outcome) {
    ended.promise.deliver(CallEnded{ended.call.lease, std::move(*outcome)});
    for (auto& abort : ended.aborts) abort.deliver(CallAborted{ended.call.lease});
  } else {
    ended.promise.deliver(died());
    for (auto& abort : ended.aborts) abort.deliver(died());
  }
}

ManualProvider::behavior_type manual_provider(ManualProvider::pointer self,
                                              const std::shared_ptr<Calls>& calls) {
  return {
      [=](const StartCall& call) -> caf::result<CallEnded> {
        auto promise = self->make_response_promise<CallEnded>();
        calls->pending.push_back({call, promise, caf::actor_cast<caf::actor>(self)});
        return promise;
      },
      [=](const AbortCall& abort) -> caf::result<CallAborted> {
        PendingCall* call = find(*calls, abort.lease);
        if (call && calls->ignores_aborts) {
          call->aborts.push_back(self->make_response_promise<CallAborted>());
          return call->aborts.back();
        }
        if (call) end(*calls, *call, outcome(CallOutcome::Kind::aborted));
        return CallAborted{abort.lease};
      },
      [=](EndCall& message) {
        if (PendingCall* call = find(*calls, message.lease)) {
          end(*calls, *call, std::move(message.outcome));
        }
      },
      [=](const DieWithCall& message) {
        auto promise = std::exchange(find(*calls, message.lease)->promise, {});
        if (message.answers) promise.deliver(died());
        self->quit(caf::exit_reason::unhandled_exception);
      },
  };
}

JobObserver::behavior_type observer(JobObserver::pointer, Fixture* fixture) {
  return {[=](const JobChanged& change) {
            fixture->reported.emplace_back(change.job->id, change.job->state);
            if (is_ended(change.job->state)) fixture->reported_ended.insert(change.job->id);
          },
          [=](const ChangesLost&) { fixture->reported_lost = true; }};
}

}  // namespace

CallOutcome outcome(CallOutcome::Kind kind, std::string code) {
  CallOutcome result;
  result.kind = kind;
  result.code = std::move(code);
  return result;
}

bool is_alive(const caf::actor_addr& actor) {
  return caf::actor_cast<caf::strong_actor_ptr>(actor) != nullptr;
}

std::size_t count_alive(const std::vector<caf::actor_addr>& actors) {
  return static_cast<std::size_t>(std::count_if(actors.begin(), actors.end(), is_alive));
}

Fixture::Fixture(std::uint32_t pool_size, bool per_customer)
    : pool_size_(pool_size), per_customer_(per_customer) {
  config_.set("scheduler.policy", caf::atom("testing"));
  config_.set("logger.file-verbosity", caf::atom("quiet"));
  config_.set("logger.console-verbosity", caf::atom("quiet"));
  start();
}

Fixture::~Fixture() {
  kill();
}

void Fixture::start() {
  daemon_ = std::make_unique<Daemon>(config_);
  daemon_->self.emplace(daemon_->system);
  scheduler().clock().current_time += std::chrono::hours{1};
  celld::store::MemoryStoreOptions store_options;
  store_options.fail_commit = [this] { return store_fails; };
  store_options.fail_counting = [this] { return counting_fails; };
  store_options.commits.commit_delay = [this] { return microseconds{commit_delay}; };
  const auto store = celld::store::spawn_memory_store(daemon_->system, disk, store_options);
  daemon_->store = caf::actor_cast<caf::actor>(store);
  const auto watcher = daemon_->system.spawn(observer, this);
  daemon_->observer = caf::actor_cast<caf::actor>(watcher);
  EngineOptions options;
  options.store = store;
  options.observer = watcher;
  options.wall_clock = [this] { return wall; };
  options.store_sizes = store_sizes_;
  options.desks = desk_sizes_;
  options.instances_max = instances_max_;
  options.window = window_;
  options.window_bytes_max = window_bytes_max_;
  options.running_max = running_max_;
  CellRule rule;
  rule.per_customer = per_customer_;
  rule.settings.pool_size = pool_size_;
  rule.settings.timeout = milliseconds{1000};
  rule.settings.retry = {3, milliseconds{100}, milliseconds{1000}};
  rule.settings.jobs_max = jobs_max_;
  options.routing = std::make_shared<const Routing>(rules_.value_or(std::vector{rule}));
  for (const std::string name : {"dns", "billing", "vm", "gpu"}) {
    options.services[name] = service_entry(name);
  }
  options.probe = std::make_shared<ProbeList>(
      std::vector<std::shared_ptr<EngineProbe>>{recorder, std::make_shared<EngineProbe>()});
  daemon_->engine = spawn_cell_dispatcher(daemon_->system, std::move(options));
  run_all();
}

ServiceEntry Fixture::service_entry(const std::string& name) const {
  const auto found = protection.find(name);
  const Protection protected_by = found == protection.end() ? Protection{} : found->second;
  const auto actions = undoes.contains(name) ? undoes.at(name) : ActionSet::all();
  if (pull_services.contains(name)) return {nullptr, settle_time, protected_by, actions};
  return {[calls = calls](caf::actor_system& system) {
            return Provider{system.spawn(manual_provider, calls)};
          },
          settle_time, protected_by, actions};
}

/// Sends exits that overtake everything else in a mailbox, until no actor is left.
void Fixture::kill() {
  calls->pending.clear();
  const auto kill_first = [](const caf::actor_addr& address) {
    const auto target = caf::actor_cast<caf::strong_actor_ptr>(address);
    if (!target) return;
    target->enqueue(nullptr, caf::make_message_id(caf::message_priority::high),
                    caf::make_message(caf::exit_msg{address, caf::exit_reason::kill}), nullptr);
  };
  scheduler().clock().cancel_all();
  for (const auto& actor :
       {daemon_->store.address(), daemon_->observer.address(), daemon_->engine.address()}) {
    kill_first(actor);
  }
  for (const auto* actors : {&recorder->workers, &recorder->pools, &recorder->dispatchers}) {
    for (const auto& actor : *actors) kill_first(actor);
  }
  run_all();
  scheduler().clock().cancel_all();
  daemon_.reset();
}

void Fixture::crash_and_restart() {
  kill();
  *recorder = {};
  start();
}

caf::scheduler::test_coordinator& Fixture::scheduler() {
  return dynamic_cast<caf::scheduler::test_coordinator&>(daemon_->system.scheduler());
}

void Fixture::run_all() {
  while (scheduler().try_run_once()) {
  }
}

void Fixture::run_all_in_any_order(unsigned seed) {
  std::mt19937 random{seed};
  for (auto& ready = scheduler().jobs; !ready.empty();) {
    const auto chosen = static_cast<std::ptrdiff_t>(random() % ready.size());
    std::rotate(ready.begin(), ready.begin() + chosen, ready.begin() + chosen + 1);
    scheduler().run_once();
  }
}

void Fixture::pass(milliseconds time) {
  run_all();
  wall += time;
  scheduler().advance_time(time);
  run_all();
}

JobRequest Fixture::request(const std::string& entity, std::vector<std::string> services) {
  JobRequest request;
  request.spec.customer = "acme";
  request.spec.product = "dns";
  request.spec.action = "create";
  request.spec.entity = {"zone", "", entity};
  request.spec.services = std::move(services);
  return request;
}

template <class Answer, class Question>
Answer Fixture::ask(Question question, const std::function<void()>& meanwhile) {
  auto pending = self()->request(engine(), caf::infinite, std::move(question));
  if (meanwhile) meanwhile();
  run_all();
  Answer answer;
  pending.receive([&](Answer& received) { answer = std::move(received); },
                  [](const caf::error&) { throw std::runtime_error("the engine failed"); });
  return answer;
}

JobSubmitted Fixture::try_to_submit(JobRequest request, bool only_replay) {
  return ask<JobSubmitted>(SubmitJob{std::move(request), only_replay});
}

JobId Fixture::submit(JobRequest request) {
  const auto submitted = try_to_submit(std::move(request));
  if (!submitted.job) throw std::runtime_error("the job was refused");
  return submitted.job->id;
}

CancelAnswered Fixture::cancel(JobId id) {
  return ask<CancelAnswered>(CancelJob{stored(id)});
}

ReopenAnswered Fixture::reopen(const JobPtr& job) {
  return ask<ReopenAnswered>(ReopenJob{job});
}

void Fixture::resize(std::optional<std::uint32_t> size) {
  ask<CellDescribed>(ResizePool{{"*", "*"}, size});
}

CellDescribed Fixture::change_pool(const ResizePool& change) {
  return ask<CellDescribed>(change);
}

std::map<CellKey, CellStatus> Fixture::cells() {
  std::map<CellKey, CellStatus> found;
  for (auto& status : ask<CellsListed>(ListCells{{}, 1000}).cells) {
    if (!status.is_template) found.emplace(status.key, status);
  }
  return found;
}

void Fixture::set_state(CellState state, const CellKey& key) {
  ask<CellDescribed>(ChangeCellState{key, state});
}

bool Fixture::has_cell(const CellKey& key) {
  return ask<CellDescribed>(DescribeCell{key}).status.has_value();
}

Reconfigured Fixture::reconfigure(std::vector<CellRule> rules, const std::set<std::string>& changed,
                                  std::set<std::string> gone,
                                  const std::function<void()>& meanwhile) {
  Reconfigure order;
  order.routing = std::make_shared<const Routing>(std::move(rules));
  for (const auto& name : changed) order.services[name] = service_entry(name);
  order.services_removed = std::move(gone);
  order.running_max = running_max_;
  return ask<Reconfigured>(std::move(order), meanwhile);
}

CellStatus Fixture::cell(const CellKey& key) {
  return ask<CellDescribed>(DescribeCell{key}).status.value();
}

ServiceStatus Fixture::service(const std::string& name) {
  return ask<ServicesListed>(ListServices{}).services.at(name);
}

ServiceStatus Fixture::reset_service(const std::string& name) {
  return ask<ServicesListed>(ResetService{name}).services.at(name);
}

std::vector<LeaseOut> Fixture::lease(const std::string& worker, std::size_t max,
                                     std::optional<std::string> customer) {
  return ask<LeasesGranted>(
             RequestLeases{++lease_requests_, "vm", worker, std::move(customer), max, false})
      .leases;
}

std::uint64_t Fixture::wait_for_lease(const std::string& worker, std::size_t max,
                                      std::optional<std::string> customer) {
  self()->send(engine(),
               RequestLeases{++lease_requests_, "vm", worker, std::move(customer), max, true});
  run_all();
  return lease_requests_;
}

void Fixture::withdraw(std::uint64_t request) {
  caf::anon_send(engine(), WithdrawRequests{{request}});
  run_all();
}

void Fixture::give_back(Lease lease) {
  caf::anon_send(engine(), ReturnLeases{{lease}});
  run_all();
}

std::vector<LeaseOut> Fixture::granted() {
  std::vector<LeaseOut> leases;
  while (self()->has_next_message()) {
    self()->receive([&](const LeasesGranted& answer) {
      leases.insert(leases.end(), answer.leases.begin(), answer.leases.end());
    });
  }
  return leases;
}

LeaseExtended Fixture::extend(Lease lease, std::optional<double> progress, std::string message) {
  return ask<LeaseExtended>(ExtendLease{lease, nullptr, progress, std::move(message)});
}

bool Fixture::end_lease(Lease lease, CallOutcome outcome) {
  return ask<LeaseEnded>(EndLease{lease, nullptr, std::move(outcome)}).accepted;
}

std::vector<LeaseOut> Fixture::leases_out(const ListLeases& list) {
  return ask<LeasesListed>(list).leases;
}

PendingCall* Fixture::call_of(JobId id) {
  auto& pending = calls->pending;
  const auto found = std::find_if(pending.begin(), pending.end(),
                                  [&](const auto& each) { return each.call.job->id == id; });
  return found == pending.end() ? nullptr : &*found;
}

void Fixture::end_call(JobId id, std::optional<CallOutcome> outcome) {
  const PendingCall* pending = call_of(id);
  if (!pending) throw std::runtime_error("no call is in flight for the job");
  caf::anon_send(pending->provider, EndCall{pending->call.lease, std::move(outcome)});
  run_all();
}

void Fixture::kill_provider(JobId id, bool answers) {
  caf::anon_send(call_of(id)->provider, DieWithCall{call_of(id)->call.lease, answers});
  run_all();
  if (PendingCall* left = call_of(id)) {
    left->provider = caf::actor_cast<caf::actor>(recorder->providers.back());
  }
}

void Fixture::succeed(JobId id) {
  end_call(id, outcome(CallOutcome::Kind::succeeded));
}

}  // namespace cells_test
