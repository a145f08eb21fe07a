// What a simulated run is checked against: everything that happened, seen from outside the engine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cells/actors/engine_context.hpp"
#include "src/store/memory_store.hpp"

namespace simulation {

using namespace cells;

/// The random source of one run: the same seed gives the same run.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// Uniform in [0, below).
  std::uint64_t below(std::uint64_t below) { return engine_() % below; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

/// (Customer, product, entity type, entity id).
using EntityName = std::tuple<std::string, std::string, std::string, std::string>;
EntityName entity_of(const Job& job);

/// A call that a provider has been asked to make and that is not over.
struct CallInFlight {
  JobPtr job;
  SteadyTime deadline{};
  const void* provider = nullptr;  ///< Which incarnation makes it.
};

/// Outlives crashes of the simulated daemon. Single-threaded, as the simulation is.
class World : public EngineProbe {
 public:
  explicit World(std::uint64_t seed);

  Dice dice;
  std::shared_ptr<celld::store::MemoryDisk> disk = std::make_shared<celld::store::MemoryDisk>();
  std::vector<std::string> violations;
  std::uint64_t trace_hash = 1469598103934665603ULL;  ///< FNV-1a over the trace.
  bool keep_trace = false;
  std::vector<std::string> trace;
  bool clock_jumped = false;
  milliseconds keep{};  ///< How long ended jobs are kept.

  /// Set by the driver before each event.
  SteadyTime now_steady{};
  WallTime now_wall{};
  WallTime latest_wall{};  ///< Whatever the clock jumped back since.

  void note(const std::string& line);
  void violated(const std::string& promise, const std::string& what);

  // --- Told by the client ----------------------------------------------------------------------
  void accepted(const JobPtr& job);
  void accepted_under(const Idempotency& idempotency, const Job& job);
  void cancel_accepted(const Job& job);
  void retry_asked(JobId id) { retries_asked_[id] += 1; }
  void change_asked(const CellKey& cell);
  void change_answered(const CellKey& cell);
  void reload_asked();
  void reload_answered(const Reconfigure& order, bool in_force);

  // --- Told by the providers -------------------------------------------------------------------
  void call_started(const StartCall& call, const void* provider);
  void call_ended(Lease lease);
  void provider_died(const void* provider);

  // --- Told by the driver ----------------------------------------------------------------------
  void daemon_started(const Routing& routing);
  void daemon_crashed();
  /// Called after every event.
  void check_deadlines();
  /// Called when everything has come to rest.
  void check_all_ended();

  // --- EngineProbe -----------------------------------------------------------------------------
  void spawned(std::string_view role, const CellKey& cell, const caf::actor& actor) override;
  void handed_out(const Job& job, std::size_t running, std::size_t max) override;
  void lease_ended(const Job& before, const Job& after, AbortCause cause) override;
  void cell_restarted(const CellKey& cell) override;

  /// Live actors of one role, by what was told of their birth; for fault injection.
  std::map<std::string, std::vector<caf::actor_addr>> actors;
  std::set<JobId> accepted_jobs;
  std::uint64_t calls = 0;
  std::uint64_t ended_jobs = 0;
  std::set<JobId> pruned_jobs;

 private:
  void set_sizes(const Routing& routing);
  void committed(const JobPtr& before, const Job& after);
  void pruned(const Job& job);
  void reopened_or_violated(const Job& before, const Job& after);

  std::map<Lease, CallInFlight> in_flight_;
  std::map<JobId, Lease> last_lease_;
  std::map<CellKey, std::set<Lease>> live_;  ///< Leases by cell, as handed out and ended.
  std::map<Lease, SteadyTime> handed_out_at_;
  std::map<CellKey, std::uint32_t> configured_size_;  ///< Of cells that are no instances.
  std::map<CellKey, std::uint32_t> changes_pending_;
  bool reload_pending_ = false;
  /// By customer and key: the job that was named, and the digest of its request.
  std::map<std::pair<std::string, std::string>, std::pair<JobId, std::string>> named_;
  std::set<JobId> to_be_cancelled_;  ///< Accepted, and not yet ended.
  std::map<JobId, std::uint32_t> retries_asked_;
  std::set<JobId> reopened_;  ///< An answer about one of them may be about its life before.
  std::map<EntityName, WallTime> kept_until_;  ///< After an attempt with an unknown outcome.
};

}  // namespace simulation
