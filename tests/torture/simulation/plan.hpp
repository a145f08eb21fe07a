// The configuration and workload of one run, drawn from its seed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cells/actors/engine_context.hpp"
#include "cells/actors/retention.hpp"
#include "cells/actors/schedule_desk.hpp"
#include "cells/model/dispatch_queue.hpp"
#include "cells/model/protection.hpp"
#include "cells/model/routing.hpp"
#include "cells/model/submission.hpp"
#include "src/http/api/batch_desk.hpp"
#include "src/store/group_commit.hpp"
#include "tests/torture/dice.hpp"
#include "tests/torture/simulation/faults.hpp"

namespace simulation {

using namespace cells;
using torture::Dice;

/// The configuration of a start or a reload.
struct Configuration {
  std::vector<CellRule> rules;
  std::set<std::string> services;
  std::set<std::string> pulled;          ///< Of these, the ones that workers outside serve.
  std::set<std::string> without_undo{};  ///< Of these, the ones that cannot undo what they do.
  std::map<std::string, Protection> protection{};
  milliseconds keep{};  ///< Retention of ended jobs.
  std::optional<std::uint64_t> running_max{};
};

/// How much one operation does. The defaults are more than a run ever needs; in some runs they are
/// so small that most work takes several operations.
struct OperationSizes {
  StoreSizes store;
  celld::store::CommitOptions commits{.claim_delay = microseconds{0}};
  std::size_t pruned_jobs_max = RetentionOptions{}.step_jobs;
  std::size_t listed_cells_max = 1000;
  DeskSizes desks;
  celld::api::BatchLimits batches;
  std::size_t firings_max = ScheduleDeskOptions{}.firings_max;
  std::size_t schedules_loaded_max = ScheduleDeskOptions{}.page_size;
};

/// A worker outside the daemon.
struct WorkerPlan {
  std::string name;
  std::optional<std::string> customer{};  ///< The one that its token is bound to.
  std::size_t leases_max = 1;             ///< That it asks for at once.
};

/// A client that sends a batch.
struct ProducerPlan {
  std::vector<JobRequest> lines;
  std::set<std::size_t> broken;  ///< Lines that the API cannot read.
  bool has_keys = false;         ///< Each line has an idempotency key.
};

struct SchedulePlan {
  std::string name;
  ScheduleSpec spec{};
  bool configured = false;
};

struct Plan {
  std::set<Fault> without;  ///< Faults that do not happen in this run.
  std::uint64_t jobs = 0;
  std::uint64_t submit_rarity = 1;  ///< One event in this many submits a job.
  std::uint64_t customers = 1;
  std::uint64_t entities = 1;         ///< Per customer and product.
  std::uint64_t fault_events = 0;     ///< Faults happen during this many events.
  std::uint64_t fault_rarity = 1;     ///< One event in this many has a fault.
  std::uint64_t commit_delay_us = 0;  ///< The maximum.
  std::vector<CellRule> rules;        ///< The catch-all comes first: shrinking keeps it.
  std::uint64_t cells_max = 0;
  DispatchQueue::Limits window;
  std::size_t window_bytes_max = EngineOptions{}.window_bytes_max;  ///< Of all windows.
  milliseconds go_ahead{};
  milliseconds settle{0};
  milliseconds keep{};  ///< Retention of ended jobs; reloads change it.
  OperationSizes sizes;
  std::uint32_t instances_max = EngineOptions{}.instances_max;  ///< Per template.
  /// Set in a run that judges turns: how long the calls of each customer take.
  std::map<std::string, milliseconds> call_times;
  std::set<std::string> pulled;  ///< Services that workers outside serve; reloads change them.
  std::map<std::string, Protection> protection;  ///< Of services; reloads change it.
  std::vector<WorkerPlan> workers;               ///< Outside the daemon.
  std::vector<ProducerPlan> producers;
  bool compensates = false;  ///< About half of the jobs do.
  std::vector<SchedulePlan> schedules;
  /// Set in a run with a capacity: what it has beyond the sizes of all cells.
  std::optional<std::uint64_t> spare_slots{};
  /// Set in a run with lulls, in which clients send nothing: how many jobs come at once after each.
  std::optional<std::uint64_t> rush{};
};

/// The other dice decide about workers outside, batches, protection, compensation, schedules,
/// sharing, quotas, small desks, the rates of services and the pace of clients alone, so that seeds
/// without them keep their course.
Plan draw_plan(Dice& dice, Dice& outside, Dice& batches, Dice& protection, Dice& compensation,
               Dice& schedules, Dice& sharing, Dice& quotas, Dice& desks, Dice& rates, Dice& pace,
               const Caps& caps);

/// The most jobs that a cell may hold in memory.
std::size_t window_max(const DispatchQueue::Limits& limits);

/// The configuration that a run starts and ends with.
Configuration full_configuration(const Plan& plan);
/// A configuration for a reload: cells (templates among them) and services come and go.
Configuration draw_configuration(const Plan& plan, Dice& dice);

/// Cells that administrators resize, pause and drain. Reloads may add and remove them; one is an
/// instance of a template.
const CellKey& draw_cell(Dice& dice);
/// One of these cells, or a template.
const CellKey& draw_resizable(Dice& dice);
const std::vector<CellKey>& overridable_cells();

/// What an administrator sets; empty: undoes what is set.
QuotaOverride draw_quota_override(Dice& dice);

JobRequest draw_request(const Plan& plan, Dice& dice, WallTime now);

}  // namespace simulation
