// The engine's real actors under CAF's test coordinator: actors run only when a test lets them, and
// time stands still until a test advances it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <caf/scheduler/test_coordinator.hpp>

#include "cells/actors/cell_dispatcher.hpp"
#include "cells/actors/engine_context.hpp"
#include "cells/actors/probe_list.hpp"
#include "src/store/memory_store.hpp"

namespace cells_test {

using namespace cells;

/// To a manual provider: end this call. Without an outcome, fail it as if the provider had died.
struct EndCall {
  Lease lease;
  std::optional<CallOutcome> outcome;
};

/// To a manual provider: die, and leave this call in flight.
struct DieWithCall {
  Lease lease;
  bool answers = true;  ///< Answer the call with an error first.
};

/// A call in flight; the test ends it.
struct PendingCall {
  StartCall call;
  caf::typed_response_promise<CallEnded> promise;
  caf::actor provider;
  std::vector<caf::typed_response_promise<CallAborted>> aborts{};  ///< Answered when it ends.
};

/// Calls in flight, and how their providers behave.
struct Calls {
  std::vector<PendingCall> pending;
  bool ignores_aborts = false;  ///< An aborted call ends only when the test ends it.
};

/// Records what the engine does, in order.
class Recorder : public EngineProbe {
 public:
  void spawned(std::string_view role, const CellKey&, const caf::actor& actor) override {
    if (role == "worker") workers.push_back(actor.address());
    if (role == "pool") pools.push_back(actor.address());
    if (role == "cell") cells.push_back(actor.address());
    if (role == "dispatcher") dispatchers.push_back(actor.address());
    if (role == "provider") providers.push_back(actor.address());
    if (role == "service") services.push_back(actor.address());
  }
  void submitted(const Job& job) override { submissions.push_back(job.id); }
  void refused(const Refusal& refusal, const std::string& customer) override {
    refusals.push_back(refusal.kind);
    refused_customers.push_back(customer);
  }
  void first_attempt_began(const Job&, milliseconds waited) override { waits.push_back(waited); }
  void attempt_ended(const Job& job, AttemptEnd::Kind kind, AbortCause cause,
                     microseconds ran) override {
    attempts.push_back({job.id, kind, cause, ran});
  }
  void job_ended(const Job& job) override { ends.emplace_back(job.id, job.state); }
  void handed_out(const Job& job, std::size_t running, std::size_t) override {
    hand_outs.emplace_back(job.id, job.lease);
    most_running = std::max(most_running, running);
  }
  void lease_ended(const Job& before, const Job& after, AbortCause) override {
    lease_ends.emplace_back(before.state, after.state);
  }
  void stale_report(const CellKey&, Lease lease) override { stale.push_back(lease); }
  void cell_restarted(const CellKey& cell) override { restarted_cells.push_back(cell); }
  void provider_restarted(const std::string& service) override { restarts.push_back(service); }
  void circuit_opened(const std::string& service) override {
    circuits.push_back(service + " opened");
  }
  void circuit_closed(const std::string& service) override {
    circuits.push_back(service + " closed");
  }
  void job_held(const Job& job) override { held.push_back(job.id); }
  void jobs_without_cell(std::uint64_t jobs, const std::string& customer,
                         const std::string& product) override {
    without_cell.push_back(std::to_string(jobs) + ", such as " + customer + "/" + product);
  }

  std::vector<caf::actor_addr> workers;
  std::vector<caf::actor_addr> pools;
  std::vector<caf::actor_addr> cells;
  std::vector<caf::actor_addr> dispatchers;
  std::vector<caf::actor_addr> providers;
  std::vector<caf::actor_addr> services;
  std::vector<std::pair<JobId, Lease>> hand_outs;
  std::vector<std::pair<JobState, JobState>> lease_ends;  ///< The job before and after.
  std::vector<Lease> stale;
  std::vector<CellKey> restarted_cells;
  std::vector<std::string> restarts;  ///< Services whose providers were replaced.
  std::vector<std::string> circuits;  ///< "dns opened", "dns closed".
  std::vector<JobId> held;
  std::vector<std::string> without_cell;  ///< "2, such as acme/dns".
  std::vector<JobId> submissions;
  std::vector<Refusal::Kind> refusals;
  std::vector<std::string> refused_customers;
  std::vector<milliseconds> waits;
  struct Attempt {
    JobId job;
    AttemptEnd::Kind kind;
    AbortCause cause;
    microseconds ran;
  };
  std::vector<Attempt> attempts;
  std::vector<std::pair<JobId, JobState>> ends;
  std::size_t most_running = 0;
};

bool is_alive(const caf::actor_addr& actor);
std::size_t count_alive(const std::vector<caf::actor_addr>& actors);

class Fixture {
 public:
  /// Starts an engine with one cell or template, (*, *), and a pool of this size.
  explicit Fixture(std::uint32_t pool_size = 1, bool per_customer = false);
  // In force from the next start on.
  void limit_jobs(std::uint64_t jobs_max) { jobs_max_ = jobs_max; }
  void configure(std::vector<CellRule> rules) { rules_ = std::move(rules); }
  void limit_store_sizes(const StoreSizes& sizes) { store_sizes_ = sizes; }
  void limit_desks(const DeskSizes& sizes) { desk_sizes_ = sizes; }
  void limit_instances(std::uint32_t instances_max) { instances_max_ = instances_max; }
  void limit_window(const DispatchQueue::Limits& window) { window_ = window; }
  void limit_window_bytes(std::size_t bytes_max) { window_bytes_max_ = bytes_max; }
  /// In force from the next start or reload on.
  void limit_capacity(std::optional<std::uint64_t> running_max) { running_max_ = running_max; }
  ~Fixture();
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  /// Runs all actors until no message is left; no time passes.
  void run_all();
  /// The same, in a random order of the actors that have messages.
  void run_all_in_any_order(unsigned seed);
  /// Advances both clocks, and runs all actors.
  void pass(milliseconds time);

  JobRequest request(const std::string& entity, std::vector<std::string> services = {"dns"});
  /// Submits and runs all actors; the job must be accepted.
  JobId submit(JobRequest request);
  JobId submit(const std::string& entity) { return submit(request(entity)); }
  // Each of these sends a request, runs all actors, and returns the answer.
  JobSubmitted try_to_submit(JobRequest request, bool only_replay = false);
  CancelAnswered cancel(JobId id);
  ReopenAnswered reopen(JobId id) { return reopen(stored(id)); }
  ReopenAnswered reopen(const JobPtr& job);
  void resize(std::optional<std::uint32_t> size);
  CellDescribed change_pool(const ResizePool& change);
  /// All cells that are running, from one list.
  std::map<CellKey, CellStatus> cells();

  // Workers outside, who lease the jobs of the service "vm".
  /// Leases what there is now.
  std::vector<LeaseOut> lease(const std::string& worker, std::size_t max = 1,
                              std::optional<std::string> customer = {});
  /// Waits for leases; returns the number of the request. The first that is granted some becomes
  /// `granted()`.
  std::uint64_t wait_for_lease(const std::string& worker, std::size_t max = 1,
                               std::optional<std::string> customer = {});
  void withdraw(std::uint64_t request);
  void give_back(Lease lease);
  /// The leases of waiting requests that were answered since the last call.
  std::vector<LeaseOut> granted();
  LeaseExtended extend(Lease lease, std::optional<double> progress = {}, std::string message = "");
  /// True: the report counts.
  bool end_lease(Lease lease, CallOutcome outcome);
  std::vector<LeaseOut> leases_out(const ListLeases& list = {});

  JobPtr stored(JobId id) const { return disk->jobs().at(id).job; }
  JobState state(JobId id) const { return stored(id)->state; }
  void set_state(CellState state, const CellKey& key = {"*", "*"});
  bool has_cell(const CellKey& key);
  /// Reloads with these rules, new or changed services, and services to remove. `meanwhile` is
  /// called after the request is sent and before the engine handles it.
  Reconfigured reconfigure(std::vector<CellRule> rules, const std::set<std::string>& changed = {},
                           std::set<std::string> gone = {},
                           const std::function<void()>& meanwhile = {});
  CellStatus cell(const CellKey& key = {"*", "*"});
  ServiceStatus service(const std::string& name);
  /// The kinds of these services from the next start or reload on.
  std::set<std::string> pull_services{"vm"};
  /// What each service can undo, from the next start or reload on; all actions if it is not named.
  std::map<std::string, ActionSet> undoes;
  std::map<std::string, Protection> protection;  ///< By service, from the next start or reload on.
  ServiceStatus reset_service(const std::string& name);

  /// The call in flight for a job; null if there is none.
  PendingCall* call_of(JobId id);
  /// Ends the call of a job, and runs all actors.
  void end_call(JobId id, std::optional<CallOutcome> outcome);
  /// Kills the provider of a job's call, which stays in flight for the successor to end, and
  /// runs all actors.
  void kill_provider(JobId id, bool answers = true);
  void succeed(JobId id);

  caf::scheduler::test_coordinator& scheduler();

  std::shared_ptr<celld::store::MemoryDisk> disk = std::make_shared<celld::store::MemoryDisk>();
  std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
  std::shared_ptr<Calls> calls = std::make_shared<Calls>();
  WallTime wall{std::chrono::hours{24 * 20'000}};
  std::vector<std::pair<JobId, JobState>> reported;  ///< By JobChanged, in order.
  std::set<JobId> reported_ended;                    ///< By JobChanged.
  bool reported_lost = false;                        ///< By ChangesLost.
  bool store_fails = false;                          ///< At its next commit.
  bool counting_fails = false;                       ///< The store cannot count jobs for a reload.
  milliseconds commit_delay{0};
  milliseconds settle_time{0};  ///< Of every service, from the next start or reload on.

  /// Kills the engine at once, and starts another on the same disk.
  void crash_and_restart();

  caf::actor_system& system() { return daemon_->system; }
  JobStore store() { return caf::actor_cast<JobStore>(daemon_->store); }
  CellDispatcher& engine() { return daemon_->engine; }
  caf::scoped_actor& self() { return *daemon_->self; }

 private:
  struct Daemon {
    explicit Daemon(caf::actor_system_config& config) : system(config) {}
    caf::actor_system system;
    caf::actor store;
    caf::actor observer;
    CellDispatcher engine;
    std::optional<caf::scoped_actor> self;
  };
  template <class Answer, class Question>
  Answer ask(Question question, const std::function<void()>& meanwhile = {});
  void start();
  void kill();
  ServiceEntry service_entry(const std::string& name) const;

  std::uint32_t pool_size_;
  bool per_customer_;
  std::uint64_t jobs_max_ = CellSettings{}.jobs_max;
  StoreSizes store_sizes_;
  DeskSizes desk_sizes_;
  std::uint32_t instances_max_ = EngineOptions{}.instances_max;
  DispatchQueue::Limits window_;
  std::size_t window_bytes_max_ = EngineOptions{}.window_bytes_max;
  std::optional<std::uint64_t> running_max_;
  std::optional<std::vector<CellRule>> rules_;
  std::uint64_t lease_requests_ = 0;
  caf::actor_system_config config_;
  std::unique_ptr<Daemon> daemon_;
};

CallOutcome outcome(CallOutcome::Kind kind, std::string code = "");

}  // namespace cells_test

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(cells_test::EndCall)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(cells_test::DieWithCall)
