// The checker of a simulated run: it records what happens, as seen from outside the engine, and
// judges by that alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cells/actors/engine_context.hpp"
#include "src/store/memory_store.hpp"
#include "tests/torture/simulation/dice.hpp"
#include "tests/torture/simulation/entity_lines.hpp"
#include "tests/torture/simulation/faults.hpp"

namespace simulation {

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
  SteadyTime at{};
  SteadyTime deadline{};         ///< The earliest possible.
  SteadyTime deadline_latest{};  ///< Counted from the start of the call.
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
  std::size_t step = 0;
  bool counts = false;     ///< Must count against max_attempts.
  bool may_count = false;  ///< May count: the provider's answer may have been lost.
  bool cut_short = false;
  std::optional<Doubt> doubt{};  ///< Set if the effect of its call is unknown.
};

/// The attempts at one step of a job, as far as their ends are on disk.
struct AttemptsMade {
  std::size_t step = 0;
  std::uint32_t counted = 0;
  std::uint32_t perhaps = 0;    ///< Attempts that may count.
  std::uint32_t cut_short = 0;  ///< Interruptions in a row, ignoring lost ends.
};

struct LiveActor {
  CellKey cell;
  caf::actor_addr address;
};

/// Outlives crashes of the simulated daemon. Like the whole simulation, it is single-threaded.
/// Violations are texts that begin with the name of the promise and a colon.
class World : public EngineProbe {
 public:
  explicit World(std::uint64_t seed);

  Dice dice;                  ///< For schedules and providers.
  std::set<Fault> without;    ///< Faults that do not happen.
  bool gentle = false;        ///< The faults are over: calls only succeed, and quickly.
  bool commit_fails = false;  ///< Make the next commit fail.
  std::shared_ptr<celld::store::MemoryDisk> disk = std::make_shared<celld::store::MemoryDisk>();
  std::vector<std::string> violations;
  std::uint64_t trace_hash = 1469598103934665603ULL;  ///< FNV-1a over the trace.
  bool keep_trace = false;
  std::vector<std::string> trace;
  milliseconds keep{};    ///< Retention of ended jobs.
  milliseconds settle{};  ///< settle_ms of every service.

  /// Set by the driver before each event.
  SteadyTime now_steady{};
  WallTime now_wall{};
  WallTime latest_wall{};  ///< The latest ever, before any jump back.

  bool may(Fault fault) const { return !gentle && !without.contains(fault); }
  void note(const std::string& line);
  void violated(const std::string& promise, const std::string& what);

  // --- Reports of the client -------------------------------------------------------------------
  /// `too_late`: the job was submitted after a shutdown had begun.
  void accepted(const JobPtr& job, bool too_late);
  void accepted_under(const Idempotency& idempotency, const Job& job);
  void cancel_asked(JobId id) { cancels_asked_.insert(id); }
  void cancel_accepted(const Job& job);
  void retry_asked(JobId id) { retries_asked_[id] += 1; }
  void retry_refused(JobId id);
  void retry_accepted(const Job& job);
  /// Returns the number of the change, for the report of its answer.
  std::uint64_t change_asked(const CellKey& cell);
  void resize_answered(const CellKey& cell, std::uint64_t number,
                       const std::optional<std::uint32_t>& size);
  void state_answered(const CellKey& cell, std::uint64_t number, CellState state);
  void change_refused(const CellKey& cell);
  void change_unknown(const CellKey& cell);
  void reload_asked();
  void reload_answered(const Reconfigure& order, bool in_force);
  void has_shut_down();

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

  // --- Reports of the driver -------------------------------------------------------------------
  void daemon_started(const Routing& routing, const std::set<std::string>& services);
  void daemon_crashed();
  /// An actor of this cell was killed, so attempts in it may be cut short.
  void disturbed(const CellKey& cell);
  void provider_killed(caf::actor_id provider) { killed_providers_.insert(provider); }
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
  /// Called when everything has ended.
  void check_all_ended();
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

  /// Actors by role, as the engine reported their spawning; for fault injection.
  std::map<std::string, std::vector<LiveActor>> actors;
  std::set<JobId> accepted_jobs;
  std::uint64_t calls = 0;
  std::uint64_t stale_reports = 0;
  std::set<JobId> pruned_jobs;

 private:
  void set_routing(const Routing& routing);
  std::optional<std::uint32_t> configured_size(const CellKey& cell) const;
  std::optional<std::uint32_t> size_of(const CellKey& cell) const;
  CellOverride override_of(const CellKey& cell) const;
  void orphan(CallInFlight& call);
  void check_expiry(CallInFlight& call);
  bool is_runnable(const Job& job) const;
  bool may_start_one(const CellKey& cell);
  std::string when(const Job& job) const;
  bool change_stands(const CellKey& cell, std::uint64_t number);

  void check_doubt(const Job& job);
  bool is_over(Doubt& doubt) const;
  void forget_doubts();
  void check_lease(const Job& job);
  void check_line_and_times(const Job& job);
  void check_bounds(const Job& job, std::size_t running, std::size_t max);
  void check_outcome(const Job& before, const Job& after, AbortCause cause);
  void check_cause(const Job& before, const Job& after, AbortCause cause);
  EndedAttempt judge(const Job& before, AbortCause cause) const;
  void check_verdict(const EndedAttempt& end, const Job& before, const Job& after,
                     AbortCause cause);
  bool answer_is_certain(const Job& before, AbortCause cause) const;
  void note_attempt_written(const Job& after);
  void note_retry_written(const Job& before, const Job& after);

  void committed(const JobPtr& before, const Job& after);
  void check_checkpoints(const Job& before, const Job& after);
  void pruned(const Job& job);
  void reopened_or_violated(const Job& before, const Job& after);

  std::map<Lease, CallInFlight> in_flight_;
  std::map<Lease, CallAnswer> answers_;  ///< For leases that have not ended.
  std::map<JobId, Lease> last_call_;
  Lease last_lease_;                         ///< The greatest ever given.
  std::map<CellKey, std::set<Lease>> live_;  ///< Live leases by cell.
  std::map<Lease, LiveHandOut> handed_out_;
  AttemptEnd::Kind last_end_{};

  std::map<CellKey, std::uint32_t> last_size_;  ///< Of cells that were ever configured.
  std::map<CellKey, std::uint32_t> changes_pending_;
  std::map<CellKey, std::uint64_t> changes_asked_;
  bool reload_pending_ = false;
  std::optional<Routing> routing_;
  std::set<std::string> services_;
  /// Cells in which a job could start but does not, and since when.
  std::map<CellKey, SteadyTime> idle_since_;
  std::set<CellKey> disturbed_;
  std::set<caf::actor_id> killed_providers_;
  bool dying_ = false;
  std::optional<SteadyTime> shutdown_asked_at_;
  SteadyTime grace_over_at_{};
  bool has_shut_down_ = false;

  /// From (customer, key) to (job that holds the key, digest of its request).
  std::map<std::pair<std::string, std::string>, std::pair<JobId, std::string>> named_;
  std::set<JobId> cancels_asked_;
  std::set<JobId> to_be_cancelled_;  ///< Accepted cancellations of jobs that have not ended.
  std::map<JobId, std::uint32_t> retries_asked_;
  std::map<JobId, std::uint32_t> retries_accepted_;
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
};

}  // namespace simulation
