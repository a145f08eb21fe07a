// The checker of a simulated run: it records what happens, as seen from outside the engine, and
// judges by that alone.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cells/actors/engine_context.hpp"
#include "src/store/memory_store.hpp"
#include "tests/torture/dice.hpp"
#include "tests/torture/simulation/cell_counts.hpp"
#include "tests/torture/simulation/cell_ends.hpp"
#include "tests/torture/simulation/checks.hpp"
#include "tests/torture/simulation/entity_lines.hpp"
#include "tests/torture/simulation/faults.hpp"
#include "tests/torture/simulation/routes.hpp"
#include "tests/torture/simulation/service_rate.hpp"
#include "tests/torture/simulation/turns.hpp"

namespace simulation {

using torture::Dice;

/// A call that a provider has begun and not ended.
struct CallInFlight {
  JobPtr job;
  SteadyTime deadline{};
  caf::actor_id provider = 0;  ///< The actor that makes the call; 0: the provider has died.
  std::optional<SteadyTime> expired_since{};
  SteadyTime orphaned_until{};  ///< When the call of a dead provider ends.
};

/// The outcome of a call, as its provider reported it.
struct CallAnswer {
  CallOutcome::Kind kind{};
  bool garbage = false;
};

/// A lease from its hand-out until the dispatcher ends it.
struct LiveHandOut {
  JobId job = 0;
  std::string customer;
  SteadyTime at{};
  SteadyTime deadline{};         ///< The earliest possible.
  SteadyTime deadline_latest{};  ///< Counted from the start of the call.
  EntityName entity{};
  milliseconds timeout{};
  std::string worker{};  ///< The worker outside that has it; empty: one inside has.
  // The rest is about leases outside.
  bool is_granted = false;   ///< An answer had it, whether that reached its worker or not.
  bool is_received = false;  ///< The worker knows of it.
  std::uint32_t holds = 0;   ///< Heartbeats without an answer; each may move the deadline.
  std::optional<WallTime> expires_at{};
  std::optional<SteadyTime> expired_since{};
  std::string service{};
};

/// The protection of a service, since it came into force.
struct ProtectionInForce {
  Protection protection;
  SteadyTime since{};
};

/// Jobs that could be leased but are not.
struct Leasable {
  SteadyTime since{};
  std::map<JobId, SteadyTime> jobs{};  ///< Since when each of them could be leased.
  /// When a request that did not wait was sent away; none if there have since been too few slots.
  std::optional<SteadyTime> sent_away_at{};
};

/// A request for leases that has not been answered.
struct LeasesWanted {
  RequestLeases asked;
  SteadyTime at{};
  bool is_withdrawn = false;
};

/// A heartbeat or a report that has not been answered.
struct LeaseUse {
  Lease lease;
  JobId job = 0;
  SteadyTime at{};
  bool was_live = false;
  SteadyTime deadline_latest{};   ///< If it was live: as it was then.
  std::optional<bool> outcome{};  ///< Reports: whether it is a success.
};

/// A list of leases that has not been answered.
struct LeaseList {
  std::string worker;
  SteadyTime at{};
  std::set<Lease> live;  ///< All that were.
};

/// A call, until its end is on disk.
struct BegunCall {
  Lease lease;
  EntityName entity;
  std::string service;
};

/// A call that was in flight at a crash, or ended with an unknown outcome. It may still have its
/// effect until `settle` has passed on either clock; on the wall clock, counted from its lowest
/// value since.
struct Doubt {
  std::string service;
  SteadyTime until{};
  WallTime lowest_wall{};
};

/// An attempt that is over but whose end is not on disk yet, judged by its provider's answer alone.
struct EndedAttempt {
  Lease lease;
  CellKey cell;
  std::size_t step = 0;
  bool is_last = false;    ///< The job ends with it.
  bool counts = false;     ///< Must count against max_attempts.
  bool may_count = false;  ///< May count: the provider's answer may have been lost.
  bool cut_short = false;
  bool continues = false;        ///< With a poll: its operation has not ended.
  std::optional<Doubt> doubt{};  ///< Set if the effect of its call is unknown.
  bool had_no_effect = false;    ///< As its provider said.
  bool must_undo = false;        ///< The engine knows that its call may have had an effect.
};

/// What a job may have done at its providers.
struct StepsDone {
  std::set<std::size_t> succeeded;                    ///< On disk, at some time.
  std::map<std::size_t, std::uint32_t> perhaps_done;  ///< Attempts not known to have had no effect.
  std::set<std::size_t> must_undo;                    ///< If the job fails.
  std::set<std::size_t> undo_over;  ///< Undone, or not to be undone; on disk, since it failed.
};

/// The attempts at one step of a job, as far as their ends are on disk.
struct AttemptsMade {
  std::size_t step = 0;
  std::uint32_t counted = 0;
  std::uint32_t perhaps = 0;    ///< Attempts that may count.
  std::uint32_t cut_short = 0;  ///< Interruptions since the last counted attempt or poll.
};

struct LiveActor {
  CellKey cell;
  caf::actor_addr address;
};

/// Names what a job attempts: its step, or the undo of it.
inline std::size_t attempted_step(const Job& job) {
  constexpr std::size_t undo = 1000;
  return is_compensating(job) ? undo + job.step : job.step;
}

/// An attempt that begins this soon after a fault may meet a dead actor.
inline constexpr milliseconds touched_within{200};
/// The longest timeout that a run draws, and what an abort takes.
inline constexpr milliseconds attempt_max{4300};
/// How long a change may take to reach the disk.
inline constexpr milliseconds written_within{1000};

/// Bits: one for each Refusal::Kind, and those below.
using Reasons = std::uint32_t;

constexpr Reasons reason(Refusal::Kind kind) {
  return 1U << static_cast<unsigned>(kind);
}

/// The job was not in a state in which the request can be granted.
inline constexpr Reasons job_unsuited = 1U << 31U;
/// The capacity or the burst did not allow the size.
inline constexpr Reasons no_room = 1U << 30U;

/// Whether the reload leaves the service without an undo.
bool is_without_undo(const Reconfigure& order, const std::string& service);

bool happened_since(const std::map<JobId, SteadyTime>& times, JobId id, SteadyTime since);

inline std::string name(const Job& job) {
  return format_job_id(job.id);
}

struct Submission {
  SteadyTime asked{};
  std::string customer;
};

/// A request of a client that has not been answered.
struct PendingRequest {
  SteadyTime asked{};
  WallTime asked_wall{};
  std::shared_ptr<const JobSpec> spec{};  ///< Of a submission or a reopening; else null.
  std::optional<Idempotency> idempotency{};
  JobPtr job{};               ///< As read by the client; null for a submission.
  Reasons possible = 0;       ///< Reasons to refuse it that may have been true since it was asked.
  Reasons certain = ~0U;      ///< Those that were certainly true all the time.
  std::set<CellKey> cells{};  ///< To which the routing may have sent it.
  std::set<std::uint64_t> jobs_limits{};  ///< Possible values of jobs_max of these cells.
  bool limits_change = false;             ///< These cells may have had other limits meanwhile.
  bool is_repeated = false;               ///< A job held the idempotency key of the same request.
  BatchId batch = 0;
  std::optional<std::pair<CellKey, std::uint32_t>> enlarged{};  ///< Of a resize: the new size.
};

/// What the size of a pool may be, as far as the world knows.
struct SizeRange {
  std::uint32_t least = 0;
  std::uint32_t most = 0;
};

/// A request to resize a cell or a template.
struct ResizeAsked {
  CellKey cell;
  std::optional<std::uint32_t> before;  ///< On disk when it was asked.
  std::optional<std::uint32_t> size;
  std::optional<SteadyTime> over_at{};
};

/// What clients have asked for one job. A request that was answered with an error may still have
/// its effect for a while.
struct CancelsAsked {
  std::uint32_t unanswered = 0;
  SteadyTime answered_at{};  ///< The last answer or error.
  SteadyTime until{};        ///< After the last error.
};
struct ReopeningAsked {
  std::uint64_t number = 0;
  bool is_done = false;  ///< The disk shows a reopening that may be this one.
  std::optional<SteadyTime> until{};
};

/// A schedule as the disk last showed it.
struct WatchedSchedule {
  Schedule seen;
  std::set<WallTime> times;  ///< For which jobs were submitted.
  std::uint64_t jobs = 0;    ///< That were submitted.
  bool was_refused = false;  ///< A submission, since then.
  /// By when the engine has given up the due time that was refused.
  std::optional<WallTime> given_up_at{};
  std::optional<SteadyTime> due_since{};
};

/// The answer to a batch, as its sender reads it.
struct BatchReport {
  BatchId id = 0;
  SteadyTime asked{};
  std::vector<std::string> lines;  ///< The parameters of each line that was sent.
  std::uint64_t accepted = 0;
  std::uint64_t replayed = 0;
  std::uint64_t rejected_count = 0;
  std::set<std::size_t> rejected;  ///< Counted from 1, as in the report.
  std::optional<std::size_t> stopped_at{};
};

/// Outlives crashes of the simulated daemon. Like the whole simulation, it is single-threaded.
/// Violations are texts that begin with the promise, the name of the check, and a colon.
class World : public EngineProbe {
 public:
  explicit World(std::uint64_t seed);

  Dice dice;                     ///< For schedules and providers.
  std::set<Fault> without;       ///< Faults that do not happen.
  bool gentle = false;           ///< The faults are over: calls only succeed, and quickly.
  bool commit_fails = false;     ///< Make the next commit fail.
  bool operation_fails = false;  ///< Make the next operation of the store fail.
  std::shared_ptr<celld::store::MemoryDisk> disk = std::make_shared<celld::store::MemoryDisk>();
  std::optional<Check> only;  ///< Makes no other check.
  std::vector<std::string> violations;
  std::uint64_t trace_hash = 1469598103934665603ULL;  ///< FNV-1a over the trace.
  bool keep_trace = false;
  std::vector<std::string> trace;
  milliseconds settle{};            ///< settle_ms of every service.
  std::size_t window_max = 0;       ///< Jobs that a cell may hold in memory.
  std::uint32_t instances_max = 0;  ///< Per template.
  /// How long the calls of each customer take; empty: as the dice say. If it is set, the window has
  /// room for every customer, and the turns are judged.
  std::map<std::string, milliseconds> call_times;

  /// Set by the driver before each event.
  SteadyTime now_steady{};
  WallTime now_wall{};
  WallTime latest_wall{};  ///< The latest ever, before any jump back.

  bool may(Fault fault) const { return !gentle && !without.contains(fault); }
  void note(const std::string& line);
  void violated(Check check, const std::string& what);

  // --- Reports of the client -------------------------------------------------------------------
  // Each request gets a number, for the report of its answer.
  std::uint64_t submission_asked(const JobRequest& request);
  void submission_answered(std::uint64_t number, const JobSubmitted& answer);
  std::uint64_t cancel_asked(const JobPtr& job);
  void cancel_answered(std::uint64_t number, const CancelAnswered& answer);
  std::uint64_t reopen_asked(const JobPtr& job);
  void reopen_answered(std::uint64_t number, const ReopenAnswered& answer);
  std::uint64_t change_asked(const CellKey& cell, PendingRequest request = {});
  std::uint64_t resize_asked(const CellKey& cell, const std::optional<std::uint32_t>& size);
  void resize_answered(const CellKey& cell, std::uint64_t number,
                       const std::optional<std::uint32_t>& size);
  void state_answered(const CellKey& cell, std::uint64_t number, CellState state);
  void quota_answered(const CellKey& cell, std::uint64_t number, const QuotaOverride& quota);
  /// The capacity or the burst does not allow the change.
  void change_denied(const CellKey& cell, std::uint64_t number);
  void change_refused(const CellKey& cell, std::uint64_t number);
  std::uint64_t reload_asked(const Reconfigure& order);
  void reload_answered(std::uint64_t number, const Reconfigured& answer);
  /// Called before the engine knows of it.
  void retention_changed(milliseconds keep);
  std::uint64_t audit_asked();
  void audit_answered(std::uint64_t number, const std::vector<CellStatus>& cells);
  /// The request was answered with an error: it may or may not have had an effect.
  void request_failed(std::uint64_t number);
  void has_shut_down();

  // --- Reports of the clients that send batches ------------------------------------------------
  /// Instead of submission_answered. `is_closed`: the batch takes no more lines.
  void line_answered(std::uint64_t number, const JobSubmitted& answer, bool is_closed);
  void batch_answered(const BatchReport& report);

  // --- Reports of the schedules ----------------------------------------------------------------
  /// Instead of submission_answered and request_failed.
  void firing_answered(std::uint64_t number, const std::string& schedule,
                       const JobSubmitted& answer);
  void firing_failed(std::uint64_t number, const std::string& schedule);

  // --- Reports of the workers outside ----------------------------------------------------------
  void leases_asked(const RequestLeases& request);
  void leases_withdrawn(std::uint64_t request);
  /// `delivered`: the worker has the answer; otherwise it had hung up before.
  void leases_answered(std::uint64_t request, const LeasesGranted& answer, bool delivered);
  void leases_failed(std::uint64_t request);
  /// Its worker has hung up: the lease goes back.
  void lease_returned(Lease lease) { returned_.insert(lease); }
  /// The worker has found a lease of its name in the list.
  void lease_found(const LeaseOut& lease);
  /// The answers below are those of the API, which may have asked the engine twice.
  std::uint64_t extension_asked(Lease lease, JobId job);
  void extension_answered(std::uint64_t number, const LeaseExtended& answer);
  std::uint64_t report_asked(Lease lease, JobId job, bool succeeded);
  void report_answered(std::uint64_t number, bool accepted);
  std::uint64_t list_asked(const std::string& worker);
  void list_answered(std::uint64_t number, const LeasesListed& answer);
  /// The heartbeat, report or list was answered with an error.
  void use_failed(std::uint64_t number);

  // --- Reports of the observer -----------------------------------------------------------------
  void end_announced(JobId id) { unannounced_.erase(id); }
  /// The observer has to look up on disk which ends it missed.
  void changes_lost() { unannounced_.clear(); }

  // --- Reports of the providers ----------------------------------------------------------------
  void call_started(const StartCall& call, const std::string& service, caf::actor_id provider);
  void call_ended(Lease lease, CallAnswer answer);
  /// Calls of a killed provider may continue for a while.
  void provider_ended(caf::actor_id provider);
  /// The end of a call whose provider has died; none: the call is over.
  std::optional<SteadyTime> orphaned_until(Lease lease) const;
  void orphan_ended(Lease lease) { in_flight_.erase(lease); }

  /// Whether the service has a circuit, or had one a moment ago.
  bool has_circuit(const std::string& service) const;

  // --- Reports of the driver -------------------------------------------------------------------
  void daemon_started(std::shared_ptr<const Routing> routing, const std::set<std::string>& services,
                      const std::set<std::string>& without_undo,
                      const std::set<std::string>& pulled,
                      const std::map<std::string, Protection>& protection, milliseconds keep,
                      std::optional<std::uint64_t> running_max);
  void daemon_crashed();
  /// An actor of this cell was killed, so attempts in it may be cut short.
  void disturbed(const CellKey& cell);
  /// The actor was the cell's dispatcher, through which all requests about its jobs go.
  void dispatcher_killed(const CellKey& cell) { dispatcher_killed_at_[cell] = now_steady; }
  void provider_killed(caf::actor_id provider, const std::string& service);
  /// The daemon is ending because its store failed, an essential actor died, or the power is cut.
  void dying() { dying_ = true; }
  bool is_dying() const { return dying_; }
  void shutdown_asked(milliseconds grace);
  bool is_shutting_down() const { return shutdown_asked_at_.has_value(); }
  void clock_jumped(const std::string& how_far);
  bool is_shut_down() const { return has_shut_down_; }
  /// Called after every event.
  void check_deadlines();
  /// Called when no actor has anything to do, before time advances.
  void check_idle_cells();
  /// Whether a submission has not been answered.
  bool awaits_submission() const;
  /// Called when everything has ended.
  void check_all_ended();
  void check_share_accepted();
  /// Describes a fault in the cells of an engine in which everything has ended; empty: none.
  std::string problem_in(const std::vector<CellStatus>& cells) const;

  // --- EngineProbe -----------------------------------------------------------------------------
  void spawned(std::string_view role, const CellKey& cell, const caf::actor& actor) override;
  void handed_out(const Job& job, std::size_t running, std::size_t max) override;
  void attempt_ended(const Job&, AttemptEnd::Kind kind, AbortCause, microseconds) override {
    last_end_ = kind;
  }
  void lease_ended(const Job& before, const Job& after, AbortCause cause) override;
  void job_ended(const Job& job) override;
  void stale_report(const CellKey&, Lease) override { stale_reports += 1; }
  void cell_restarted(const CellKey& cell) override;
  void window_holds(const CellKey& cell, std::size_t jobs) override;

  /// Actors by role, as the engine reported their spawning; for fault injection.
  std::map<std::string, std::vector<LiveActor>> actors;
  std::set<JobId> accepted_jobs;
  bool shares = false;  ///< Cells borrow from each other in this run.
  std::uint64_t calls = 0;
  std::uint64_t stale_reports = 0;
  std::set<JobId> pruned_jobs;

 private:
  void set_routing(std::shared_ptr<const Routing> routing);
  std::optional<SizeRange> configured_size(const CellKey& cell) const;
  void note_instance_size(const CellKey& cell, SteadyTime decided_after);
  SizeRange sizes_since(const CellKey& cell, std::uint32_t configured, SteadyTime since) const;
  std::set<CellKey> cells_at_most(const Routing& routing) const;
  std::size_t instances_at_most(const Routing& routing, const CellRule& rule) const;
  std::uint32_t size_at_most(const Routing& routing, const CellKey& cell) const;
  bool may_lack_room(const CellKey& cell, std::uint32_t size) const;
  bool may_lack_room(const Routing& routing, const CellKey& cell, std::uint32_t size) const;
  std::optional<SizeRange> size_of(const CellKey& cell) const;
  CellOverride override_of(const CellKey& cell) const;
  void orphan(CallInFlight& call);
  void check_expiry(CallInFlight& call);
  bool is_runnable(const Job& job) const;
  bool may_start_one(const CellKey& cell);
  std::uint32_t burst_of(const CellKey& cell, std::uint32_t size) const;
  std::uint64_t capacity_at_least() const;
  std::size_t live_everywhere() const;
  std::size_t begun_before_lowering() const;
  void check_sharing(const Job& job, std::size_t live);
  void check_guarantees();
  CellSettings settings_of(const CellRule& rule, const CellKey& cell) const;
  bool is_changing(const CellKey& cell) const;
  bool has_changed_lately(const CellKey& cell, microseconds within) const;
  std::size_t live_of_customer(const CellKey& cell, const std::string& customer) const;
  bool is_at_running_quota(const Job& job) const;
  void check_running_quota(const Job& job);
  std::uint32_t weight_of(const Job& job) const;
  void check_quota_bound(const Job& job);
  std::size_t customer_jobs_at_most(const CellKey& cell, const std::string& customer,
                                    SteadyTime since) const;
  std::uint64_t bytes_at_most(std::size_t jobs) const;
  Reasons quota_reasons(const CellRule& rule, const CellKey& cell,
                        const PendingRequest& request) const;
  void note_submission(const PendingRequest& request);
  bool may_be_too_fast(const RateQuota& quota, const CellKey& cell, const std::string* customer,
                       SteadyTime asked) const;
  void watch_rates_afresh(const CellKey& cell);
  void watch_changed_rates(const Routing& before);
  void note_accepted(const PendingRequest& request, const Job& job);
  std::string when(const Job& job) const;
  PendingRequest change_over(const CellKey& cell, std::uint64_t number);
  bool change_stands(const CellKey& cell, std::uint64_t number);
  bool is_touched(const std::optional<SteadyTime>& fault, Lease lease) const;
  bool is_disturbed(const CellKey& cell, Lease lease) const;
  bool lost_dispatcher(const CellKey& cell, SteadyTime since) const;
  bool lost_dispatcher_of(JobId job, SteadyTime since) const;
  bool lost_dispatcher_of(const PendingRequest& request, SteadyTime since) const;
  std::set<std::string> waiting_customers(const CellKey& cell) const;
  void check_turns(const Job& before);
  void check_limit(const Job& job);
  void check_rate(const Job& job);
  void note_ungranted(const Job& before);
  /// What the ends of calls say about a circuit.
  struct WatchedFailure {
    SteadyTime began{};
    SteadyTime ended{};
  };
  struct WatchedCircuit {
    SteadyTime since{};                     ///< Of its policy.
    std::deque<WatchedFailure> failures{};  ///< In a row.
    std::optional<SteadyTime> opened_at{};
    /// Between these the engine may have it open, or count more failures.
    SteadyTime unclear_since{};
    SteadyTime unclear_until{};
    bool missed = false;  ///< Calls may have ended unseen.
  };
  WatchedCircuit* watched_circuit(const std::string& service);
  void become_unclear(WatchedCircuit& circuit, const CircuitPolicy& policy);
  void note_alive(WatchedCircuit& circuit, SteadyTime began, const CircuitPolicy& policy);
  void note_failing(WatchedCircuit& circuit, SteadyTime began, const CircuitPolicy& policy);
  static bool began_behind(const WatchedCircuit& circuit, SteadyTime handed_out_at);
  void note_circuit(const Job& before, AbortCause cause);
  void check_circuit(const Job& job);
  bool is_probe(const Job& before);
  bool may_be_probe(const Job& before) const;
  std::size_t running_at(const std::string& service) const;
  bool may_be_held_back(const std::string& service) const;
  bool may_wait_for_rate(const std::string& service) const;
  bool may_have_permit(const std::string& service) const;
  void protect(const std::string& service, const Protection& protection);
  void end_circuit(const std::string& service);
  void check_routing(const Job& job);
  void note_count(const Job* before, const Job& after);
  void check_queue_bound(const Job& job);
  milliseconds shortest_keep() const;
  void check_late_removal();

  std::uint64_t add_request(PendingRequest request);
  PendingRequest finish_request(std::uint64_t number);
  void note_turned_away();
  void note_reasons();
  void note_reasons(PendingRequest& request) const;
  Reasons possible_reasons(const Routing& routing, PendingRequest& request) const;
  Reasons certain_reasons(const PendingRequest& request) const;
  bool lacks_service(const JobSpec& spec) const;
  bool may_lack_service(const JobSpec& spec) const;
  std::optional<std::string> digest_under(const PendingRequest& request) const;
  bool key_may_be_taken(const PendingRequest& request) const;
  std::vector<const Routing*> possible_routings() const;
  std::size_t jobs_at_most(const CellKey& cell, SteadyTime since) const;
  std::size_t jobs_at_least(const CellKey& cell, SteadyTime since) const;
  void submission_decided(const PendingRequest& request, const PendingRequest& reasons,
                          const JobSubmitted& answer);
  static void add_reasons(PendingRequest& batch, const PendingRequest& line);
  void line_stored(const Job& job);
  void firing_stored(const Job& job);
  void note_refused_firing(const std::string& schedule, const PendingRequest& request);
  static void begin_afresh(WatchedSchedule& watched);
  void watch_schedules_afresh();
  void check_schedules();
  void check_progress(const Schedule& schedule, const WatchedSchedule& watched);
  void check_lateness(const Schedule& schedule, WatchedSchedule& watched);
  bool is_made(const std::string& line) const;
  bool is_in_batch(const std::string& line, BatchId batch) const;
  void check_batch_row(const BatchReport& report, bool is_certain);
  void check_batches();
  void judge_refusal(const PendingRequest& request, const Refusal& refusal);
  void check_retry_after(const PendingRequest& request, const Refusal& refusal);
  void accepted(const PendingRequest& request, const Job& job, bool replayed);
  void accepted_under(const Idempotency& idempotency, const Job& job);
  bool is_cancel_asked(JobId id) const;
  bool was_being_cancelled(JobId id, SteadyTime since) const;
  bool is_to_be_cancelled(JobId id) const;
  void reopening_over(JobId id, std::uint64_t number, bool is_done);
  bool may_be_reopened(JobId id);
  void cancel_accepted(const PendingRequest& request, const Job& job);
  bool could_not_cancel(const PendingRequest& request) const;
  bool could_not_reopen(const PendingRequest& request) const;
  void reopen_accepted(const Job& job);
  void reload_in_force(const Reconfigure& order, SteadyTime asked);
  std::uint64_t needs_at_most(const std::string& service, bool undo, SteadyTime asked) const;
  void judge_needs(const PendingRequest& request, const Reconfigured& answer);

  void check_doubt(const Job& job);
  bool is_over(Doubt& doubt) const;
  void forget_doubts();
  void check_lease(const Job& job);
  void check_line_and_times(const Job& job);
  void check_bounds(const Job& job, std::size_t running, std::size_t max);
  void check_outcome(const Job& before, const Job& after, AbortCause cause);
  void check_cause(const Job& before, const Job& after, AbortCause cause);
  EndedAttempt judge(const Job& before, AbortCause cause);
  void check_verdict(const EndedAttempt& end, const Job& before, const Job& after,
                     AbortCause cause);
  bool answer_is_certain(const Job& before, AbortCause cause) const;
  void note_attempt_written(const Job& after);
  void note_reopening_written(const Job& before, const Job& after);

  void committed(const JobPtr& before, const Job& after);
  void check_checkpoints(const Job& before, const Job& after);

  void keep_leases();
  void expect_fresh_deadlines(const CellKey& cell);
  void check_granted(const LeasesWanted& wanted, const LeasesGranted& answer);
  void check_lease_stored(const Job& job);
  void lease_received(const LeaseOut& lease);
  void check_told(const LeaseUse& use, const LeaseOut& lease, bool cancel);
  void check_call(const Job& job, Lease lease, const std::string& service);
  bool may_have_undo(const std::string& service) const;
  void check_undo(const Job& job, const Job& stored);
  void note_steps_done(const Job& after);
  void check_compensation(const Job& before, const Job& after);
  void note_followers(const Job& before, const Job& after);
  void check_follower(const Job& job);
  void note_outside_answer(const Job& before);
  void check_outside_end(const Job& before, AbortCause cause);
  void check_idle_lanes();
  bool have_slots_for_all() const;
  void sent_away(const RequestLeases& asked, SteadyTime at);
  bool cancellations_may_leave_none(const Leasable& leasable, SteadyTime asked_at) const;
  bool is_pulled(const Job& job) const;
  void check_outside_times();
  bool must_be_live(const LeaseUse& use) const;
  bool is_reported(const LeaseUse& use) const;
  LeaseUse finish_use(std::uint64_t number);
  void pruned(const Job& job);
  void reopened_or_violated(const Job& before, const Job& after);

  std::map<Lease, CallInFlight> in_flight_;
  std::map<Lease, CallAnswer> answers_;  ///< For leases that have not ended.
  std::map<JobId, Lease> last_call_;
  Lease last_lease_;                         ///< The greatest ever given.
  std::map<CellKey, std::set<Lease>> live_;  ///< Live leases by cell.
  std::map<Lease, LiveHandOut> handed_out_;  ///< Those outside outlive a crash.
  std::map<std::uint64_t, LeasesWanted> wanted_;
  std::map<std::uint64_t, LeaseUse> uses_;
  std::map<std::uint64_t, LeaseList> lists_;
  std::set<Lease> returned_;
  std::map<Lease, std::set<bool>> reports_;  ///< Outcomes that were reported, in time or not.
  std::map<Lease, bool> reported_;           ///< Outcomes that were accepted.
  /// (Cell, service, customer) of pulled jobs that could be leased but are not.
  std::map<std::tuple<CellKey, std::string, std::string>, Leasable> leasable_;
  SteadyTime jumped_at_{};
  SteadyTime started_at_{};
  AttemptEnd::Kind last_end_{};

  std::map<CellKey, SizeRange> last_size_;  ///< Of cells that were ever configured.
  /// What each instance of a template started with.
  std::map<CellKey, SizeRange> instance_sizes_;
  std::map<std::uint64_t, ResizeAsked> resizes_;  ///< Of this daemon, by number.
  std::map<CellKey, std::uint32_t> changes_pending_;
  std::map<CellKey, SteadyTime> changed_at_;  ///< The last answered change.
  std::map<CellKey, std::uint64_t> changes_asked_;
  std::optional<std::uint64_t> running_max_;
  /// By a reload, or by a start at which more leases were live outside than it allows.
  std::optional<SteadyTime> capacity_lowered_at_;
  /// Cells that run less than their guarantee although a job waits, and since when.
  std::map<CellKey, SteadyTime> lacking_since_;
  std::shared_ptr<const Routing> routing_;
  std::shared_ptr<const Routing> former_routing_;  ///< Before the last reload of this daemon.
  std::optional<std::uint64_t> former_running_max_;
  SteadyTime rerouted_at_{};
  std::optional<Reconfigure> reload_;  ///< Not answered, so that it may be in force.
  std::set<std::string> services_;
  std::set<std::string> without_undo_;  ///< Services that cannot undo what they do.
  std::map<std::string, ProtectionInForce> protection_;  ///< Of the services that have some.
  std::map<std::string, ServiceRate> rates_;             ///< Of attempts, by service.
  /// Of services that have had a circuit since the daemon started: until when.
  std::map<std::string, SteadyTime> circuit_until_;
  std::map<std::string, SteadyTime> last_end_at_;  ///< Of an attempt, by service.
  std::set<std::string> pulled_;                   ///< Of these, those that workers outside serve.
  /// Cells in which a job could start but does not, and since when.
  std::map<CellKey, SteadyTime> idle_since_;
  std::map<CellKey, SteadyTime> disturbed_at_;            ///< By an actor of the cell that died.
  std::map<std::string, SteadyTime> provider_killed_at_;  ///< By service.
  std::set<caf::actor_id> killed_providers_;
  std::map<CellKey, SteadyTime> dispatcher_killed_at_;
  bool dying_ = false;
  std::optional<SteadyTime> shutdown_asked_at_;
  SteadyTime grace_over_at_{};
  std::map<Lease, SteadyTime> over_at_;  ///< Leases outside that have ended.
  bool has_shut_down_ = false;

  /// From (customer, key) to (job that holds the key, digest of its request).
  std::map<std::pair<std::string, std::string>, std::pair<JobId, std::string>> named_;
  std::map<std::uint64_t, PendingRequest> pending_;
  std::map<BatchId, PendingRequest> batch_requests_;  ///< The reasons of all its lines together.
  std::map<std::string, WatchedSchedule> watched_;    ///< Schedules, by name.
  std::map<std::string, std::set<JobId>> line_jobs_;  ///< By parameters: jobs of batches.
  std::uint64_t requests_ = 0;
  std::uint64_t submissions_answered_ = 0;
  std::uint64_t submissions_refused_ = 0;
  std::deque<SteadyTime> turned_away_;  ///< When requests were turned away, lately.
  std::map<std::string, WatchedCircuit> circuits_;
  CellCounts cell_counts_;
  CustomerCounts customer_counts_;
  std::map<CellKey, CellEnds> cell_ends_;
  std::uint64_t job_bytes_most_ = 0;  ///< What a quota of bytes counts for the largest job.
  std::map<CellKey, std::deque<Submission>> submissions_asked_;
  /// Since the cell's dispatcher started, and its limits last changed.
  struct Accepted {
    SteadyTime since;  ///< What was asked for before it does not count.
    std::deque<Submission> submissions;
  };
  std::map<CellKey, Accepted> accepted_;
  Turns turns_;
  std::map<JobId, SteadyTime> ended_at_;  ///< On disk; the latest time.
  std::map<JobId, SteadyTime> moved_at_;  ///< To another cell.
  std::map<JobId, SteadyTime> reopened_at_;
  milliseconds keep_{};         ///< Retention of ended jobs.
  milliseconds former_keep_{};  ///< The shortest that may still be in force.
  SteadyTime keep_changed_at_{};
  std::set<std::pair<WallTime, JobId>> removable_;  ///< Ended, and no longer in a line.
  std::pair<JobId, SteadyTime> overdue_{};          ///< Should be removed, since then; 0: none.
  std::map<JobId, CancelsAsked> cancels_asked_;
  std::set<JobId> to_be_cancelled_;  ///< Accepted cancellations of jobs that have not ended.
  std::map<JobId, std::vector<ReopeningAsked>> reopenings_asked_;
  std::map<JobId, std::uint32_t> reopenings_accepted_;
  std::map<JobId, std::uint32_t> reopened_;  ///< An answer may be about a job's earlier life.
  std::map<JobId, std::uint32_t> ends_;      ///< Committed ends.
  std::map<JobId, std::uint32_t> ends_announced_;
  std::set<JobId> unannounced_;                ///< Jobs whose ends are on disk but not announced.
  std::map<JobId, WallTime> not_before_;       ///< Of the next attempt.
  std::map<EntityName, WallTime> kept_until_;  ///< After an attempt with an unknown outcome.
  EntityLines lines_;
  DueOrder due_order_;
  SteadyTime after_jump_{};              ///< By then, writes begun before a clock jump are done.
  std::map<JobId, EndedAttempt> ended_;  ///< Attempts whose ends are being written.
  std::map<JobId, AttemptsMade> made_;
  std::map<JobId, BegunCall> begun_;
  std::map<EntityName, Doubt> doubts_;
  std::map<JobId, StepsDone> steps_done_;  ///< Of jobs that compensate.
  std::set<JobId> may_fall_;               ///< A job of their line has failed.
  std::set<JobId> must_fall_;              ///< One ahead of them has.
};

}  // namespace simulation
