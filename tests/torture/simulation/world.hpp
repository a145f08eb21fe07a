// What a simulated run is checked against: everything that happened, seen from outside the engine.
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

/// A call that a provider has been asked to make and that is not over.
struct CallInFlight {
  JobPtr job;
  SteadyTime deadline{};
  caf::actor_id provider = 0;  ///< Which incarnation makes it; 0: it is gone.
  std::optional<SteadyTime> expired_since{};
  SteadyTime left_over_until{};  ///< Of one whose provider is gone.
};

/// What a provider said at the end of a call.
struct CallAnswer {
  CallOutcome::Kind kind{};
  bool garbage = false;
};

/// A lease as the dispatcher gave it, until the dispatcher says that it is over.
struct LiveHandOut {
  JobId job = 0;
  SteadyTime at{};
  SteadyTime deadline{};         ///< At the earliest.
  SteadyTime deadline_latest{};  ///< Counted from the beginning of its call.
};

/// A call that was made, until its end is on disk.
struct BegunCall {
  Lease lease;
  EntityName entity;
  std::string service;
};

/// A call was under way at a crash, or ended without anybody knowing what it did, and may still
/// have its effect until one of the clocks has gone on for long enough; the wall clock from where
/// it was lowest since.
struct Doubt {
  std::string service;
  SteadyTime until{};
  WallTime lowest_wall{};
};

/// An attempt that is over and whose end is not on disk yet, judged by its provider alone.
struct EndedAttempt {
  Lease lease;
  std::size_t step = 0;
  bool counts = false;     ///< Towards the attempts that the job may make, in any case.
  bool may_count = false;  ///< Its provider had answered, and the answer may have been lost.
  bool cut_short = false;
  std::optional<Doubt> doubt{};  ///< Nobody knows what its call has done.
};

/// Attempts at one step of a job whose ends are on disk.
struct AttemptsMade {
  std::size_t step = 0;
  std::uint32_t counted = 0;
  std::uint32_t perhaps = 0;    ///< Those that may count.
  std::uint32_t cut_short = 0;  ///< In a row, but for ends that nobody knows of.
};

struct LiveActor {
  CellKey cell;
  caf::actor_addr address;
};

/// Outlives crashes of the simulated daemon. Single-threaded, as the simulation is. Violations are
/// texts that begin with the name of the promise and a colon.
class World : public EngineProbe {
 public:
  explicit World(std::uint64_t seed);

  Dice dice;                  ///< Of schedules and providers.
  std::set<Fault> without;    ///< What does not happen.
  bool gentle = false;        ///< Faults are over: providers only succeed, and soon.
  bool commit_fails = false;  ///< The next commit of the store.
  std::shared_ptr<celld::store::MemoryDisk> disk = std::make_shared<celld::store::MemoryDisk>();
  std::vector<std::string> violations;
  std::uint64_t trace_hash = 1469598103934665603ULL;  ///< FNV-1a over the trace.
  bool keep_trace = false;
  std::vector<std::string> trace;
  milliseconds keep{};    ///< How long ended jobs are kept.
  milliseconds settle{};  ///< Of every service.

  /// Set by the driver before each event.
  SteadyTime now_steady{};
  WallTime now_wall{};
  WallTime latest_wall{};  ///< Whatever the clock jumped back since.

  bool may(Fault fault) const { return !gentle && !without.contains(fault); }
  void note(const std::string& line);
  void violated(const std::string& promise, const std::string& what);

  // --- Told by the client ----------------------------------------------------------------------
  /// `too_late`: asked for after a stop was.
  void accepted(const JobPtr& job, bool too_late);
  void accepted_under(const Idempotency& idempotency, const Job& job);
  void cancel_asked(JobId id) { cancels_asked_.insert(id); }
  void cancel_accepted(const Job& job);
  void retry_asked(JobId id) { retries_asked_[id] += 1; }
  void retry_refused(JobId id);
  void retry_accepted(const Job& job);
  /// Returns a number to answer with.
  std::uint64_t change_asked(const CellKey& cell);
  void resize_answered(const CellKey& cell, std::uint64_t number,
                       const std::optional<std::uint32_t>& size);
  void state_answered(const CellKey& cell, std::uint64_t number, CellState state);
  void change_refused(const CellKey& cell);
  void change_unknown(const CellKey& cell);
  void reload_asked();
  void reload_answered(const Reconfigure& order, bool in_force);
  void has_shut_down();

  // --- Told by whoever watches -----------------------------------------------------------------
  void end_told(JobId id) { untold_.erase(id); }
  /// Ends that nobody has told of are on disk, and looked up there.
  void changes_lost() { untold_.clear(); }

  // --- Told by the providers -------------------------------------------------------------------
  void call_started(const StartCall& call, const std::string& service, caf::actor_id provider);
  void call_ended(Lease lease, CallAnswer answer);
  /// Calls of a provider that was killed may go on for a while.
  void provider_ended(caf::actor_id provider);
  /// Until when a call goes on whose provider is gone; nothing: it is over.
  std::optional<SteadyTime> left_over_until(Lease lease) const;
  void left_over_ended(Lease lease) { in_flight_.erase(lease); }

  // --- Told by the driver ----------------------------------------------------------------------
  void daemon_started(const Routing& routing, const std::set<std::string>& services);
  void daemon_crashed();
  /// An actor of this cell was killed: what ran there may be cut short.
  void disturbed(const CellKey& cell);
  void provider_killed(caf::actor_id provider) { killed_providers_.insert(provider); }
  /// The daemon is ending, since its store failed, an actor died that it needs, or the power is
  /// cut.
  void dying() { dying_ = true; }
  bool is_dying() const { return dying_; }
  void shutdown_asked(milliseconds grace);
  bool is_shutting_down() const { return shutdown_asked_at_.has_value(); }
  void clock_jumped(const std::string& how_far);
  bool is_shut_down() const { return has_shut_down_; }
  /// Called after every event.
  void check_deadlines();
  /// Called when no actor has anything to do before time goes on.
  void check_idle_cells();
  /// Called when everything has come to rest.
  void check_all_ended();
  /// What is wrong with the cells of an engine in which everything has ended; empty: nothing.
  std::string complaint_about(const std::vector<CellStatus>& cells) const;

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

  /// Live actors of one role, by what was told of their birth; for fault injection.
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
  void leave_over(CallInFlight& call);
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
  bool is_heard(const Job& before, AbortCause cause) const;
  void note_attempt_written(const Job& after);
  void note_retry_written(const Job& before, const Job& after);

  void committed(const JobPtr& before, const Job& after);
  void check_checkpoints(const Job& before, const Job& after);
  void pruned(const Job& job);
  void reopened_or_violated(const Job& before, const Job& after);

  std::map<Lease, CallInFlight> in_flight_;
  std::map<Lease, CallAnswer> answers_;  ///< Of leases that are not over.
  std::map<JobId, Lease> last_call_;
  Lease last_lease_;                         ///< Of all that were ever given.
  std::map<CellKey, std::set<Lease>> live_;  ///< Leases by cell, as handed out and ended.
  std::map<Lease, LiveHandOut> handed_out_;
  AttemptEnd::Kind last_end_{};

  std::map<CellKey, std::uint32_t> last_size_;  ///< Of cells that were configured once.
  std::map<CellKey, std::uint32_t> changes_pending_;
  std::map<CellKey, std::uint64_t> changes_asked_;
  bool reload_pending_ = false;
  std::optional<Routing> routing_;
  std::set<std::string> services_;
  /// Cells in which a job could run and does not, and since when.
  std::map<CellKey, SteadyTime> idle_since_;
  std::set<CellKey> disturbed_;
  std::set<caf::actor_id> killed_providers_;
  bool dying_ = false;
  std::optional<SteadyTime> shutdown_asked_at_;
  SteadyTime grace_over_at_{};
  bool has_shut_down_ = false;

  /// By customer and key: the job that was named, and the digest of its request.
  std::map<std::pair<std::string, std::string>, std::pair<JobId, std::string>> named_;
  std::set<JobId> cancels_asked_;
  std::set<JobId> to_be_cancelled_;  ///< Accepted, and not yet ended.
  std::map<JobId, std::uint32_t> retries_asked_;
  std::map<JobId, std::uint32_t> retries_accepted_;
  std::map<JobId, std::uint32_t> reopened_;  ///< An answer about one may be about its life before.
  std::map<JobId, std::uint32_t> ends_;      ///< As committed.
  std::map<JobId, std::uint32_t> ends_told_;
  std::set<JobId> untold_;  ///< Ends that are on disk, and that whoever watches has not heard of.
  std::map<JobId, WallTime> not_before_;       ///< The next attempt.
  std::map<EntityName, WallTime> kept_until_;  ///< After an attempt with an unknown outcome.
  EntityLines lines_;
  DueOrder due_order_;
  SteadyTime after_jump_{};              ///< When all that was begun before a jump is done.
  std::map<JobId, EndedAttempt> ended_;  ///< Whose ends are being written.
  std::map<JobId, AttemptsMade> made_;
  std::map<JobId, BegunCall> begun_;
  std::map<EntityName, Doubt> doubts_;
};

}  // namespace simulation
