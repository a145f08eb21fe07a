// A job: what was requested, and how far it has come.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/model/cell_key.hpp"
#include "cells/model/durability.hpp"
#include "cells/model/ids.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// cells/model/job_machine.hpp has the transitions and draws them.
enum class JobState : std::uint8_t {
  scheduled,     ///< Not due before `run_at`; has no place in its entity's line yet.
  queued,        ///< Due; waits for a worker, or for the jobs before it in its entity's line.
  running,       ///< Has a live lease. After a crash, a lease of a worker outside stays live; an
                 ///< attempt inside is interrupted, and the job waits for another one.
  retrying,      ///< Head of its entity's line; waits for `next_attempt_at`, then for a worker.
  compensating,  ///< Has failed and undoes its steps. Waits for `next_attempt_at`, for the jobs
                 ///< before it in its line, then for a worker. While an undo is under way, the
                 ///< state is `running`. The job ends only after its last undo.
  succeeded,     ///< Ended: every step succeeded.
  failed,        ///< Ended: a step failed for good, or the job expired. Every undo was tried.
  cancelled,     ///< Ended: a client cancelled it, or a job ahead in its line failed.
};
inline constexpr std::size_t job_state_count = 8;

enum class StepState : std::uint8_t {
  waiting,      ///< Not tried yet.
  running,      ///< An attempt is under way, or one at undoing it. If the job has no lease, the
                ///< attempt waits for the provider's operation.
  retrying,     ///< An attempt, or one at undoing it, failed; another follows.
  succeeded,    ///< Checkpointed; never runs again, unless to be undone.
  failed,       ///< No further attempt, unless to be undone.
  undone,       ///< Its service has undone it.
  undo_failed,  ///< No further attempt at undoing it.
  skipped,      ///< The job ended before its turn.
};

enum class Severity : std::uint8_t { info, warning, error };

/// What happens to the effects of a job that fails for good.
enum class OnFailure : std::uint8_t {
  stop,        ///< They stay.
  compensate,  ///< Its services undo them.
};

/// The name in the API, for example "queued".
std::string_view to_string(JobState state);
std::string_view to_string(StepState state);
std::string_view to_string(Severity severity);
std::string_view to_string(OnFailure on_failure);
/// The inverse of to_string; nothing for an unknown name.
std::optional<JobState> parse_job_state(std::string_view name);
std::optional<StepState> parse_step_state(std::string_view name);
std::optional<Severity> parse_severity(std::string_view name);
std::optional<OnFailure> parse_on_failure(std::string_view name);

/// Whether the job has succeeded, failed or been cancelled.
bool is_ended(JobState state);

/// What a job is about. Two jobs of one customer and product with the same type and id never have
/// calls in flight at once (promise P6); the subtype does not matter.
struct Entity {
  std::string type;
  std::string subtype;  ///< Empty: none.
  std::string id;

  bool operator==(const Entity&) const = default;
};

/// Names of top-level members, with their values as JSON text. The engine merges by name and never
/// reads a value.
using Properties = std::map<std::string, std::string>;

/// What was requested; never changes once the job is accepted.
struct JobSpec {
  std::string customer;
  std::string product;
  std::string action;
  Entity entity;
  std::vector<std::string> services;  ///< 1 to 16 different ones, in order of the steps.
  std::string parameters = "{}";      ///< A JSON object as text.
  std::map<std::string, std::string> labels;
  std::string traceparent;         ///< W3C trace context as received; empty: none.
  int priority = 5;                ///< 1 to 9, 9 first.
  milliseconds timeout{};          ///< For one attempt at one service.
  std::uint32_t max_attempts = 0;  ///< Per step.
  OnFailure on_failure = OnFailure::stop;

  bool operator==(const JobSpec&) const = default;
};

/// How a worker outside the daemon ended its lease.
struct StepReport {
  Lease lease;
  bool succeeded = false;

  bool operator==(const StepReport&) const = default;
};

struct Step {
  StepState state = StepState::waiting;
  std::uint32_t attempts = 0;  ///< Only counted ones: see AttemptEnd.
  std::optional<WallTime> started_at;
  std::optional<WallTime> finished_at;
  std::optional<double> progress;  ///< 0 to 1, as a worker outside reports it.
  /// While running: the worker outside that has the lease; empty: a worker inside has it.
  std::string worker{};
  /// Set if a worker outside ended the latest attempt by a report.
  std::optional<StepReport> report{};
  /// An operation that the provider has begun, in a notation that only this kind of provider reads.
  /// Later calls continue the operation instead of beginning another one. Empty: none.
  std::string operation{};
  /// The outcome of an attempt is unknown, so the step may have to be undone although it failed.
  /// Only of jobs that compensate.
  bool in_doubt = false;
  std::uint32_t undo_attempts = 0;  ///< At undoing the step; only counted ones.

  bool operator==(const Step&) const = default;
};

struct Message {
  WallTime time;
  Severity severity = Severity::info;
  std::string service;
  std::string text;

  bool operator==(const Message&) const = default;
};

struct JobError {
  std::string code;  ///< One of the API's codes, or a provider's own.
  std::string message;
  std::string service;  ///< Empty when no single service is to blame.

  bool operator==(const JobError&) const = default;
};

/// A job as the engine passes it on and the store keeps it.
struct Job {
  JobId id = 0;
  std::shared_ptr<const JobSpec> spec;
  CellKey cell;
  JobState state = JobState::queued;
  /// The place in the entity's line; 0 until the job is first due. The job keeps it through
  /// retries, until it has ended and `settle_until`, if set, has passed.
  JobId place = 0;
  /// Set when a job ahead of this one in its line has failed: the greatest id or place in the store
  /// at that moment. The followers of the failed job are the jobs of the line with places up to
  /// this. 0: none has failed.
  JobId failed_ahead = 0;
  /// The lane of the cell that the job is in: the service of its current step, if that is a pull
  /// service or protected; else empty.
  std::string lane;
  /// Index of the current step, which is the one to be undone in a compensation; steps.size() when
  /// all have succeeded.
  std::size_t step = 0;
  std::vector<Step> steps;  ///< One per service of the spec.
  Properties properties;    ///< Merged results of the steps.
  std::vector<Message> messages;
  std::optional<JobError> error;  ///< Set when the job ends, or begins its compensation.
  Lease lease;                    ///< The latest one; live while running.
  /// Attempts cut short by a crash since the last counted attempt or poll; three fail the job.
  std::uint32_t interruptions = 0;
  bool cancel_requested = false;
  WallTime created_at{};
  WallTime run_at{};
  std::optional<WallTime> expires_at;
  std::optional<WallTime> started_at;  ///< Of the first attempt.
  std::optional<WallTime> finished_at;
  /// Set while retrying, and while compensating if the next attempt has to wait.
  std::optional<WallTime> next_attempt_at;
  /// How long the entity is kept after an unknown outcome: until then no call is made for it, and
  /// an ended job keeps its place. While the job waits to ask for its operation again, this lies
  /// beyond `next_attempt_at`, by the time that the entity is kept if the operation is given up.
  std::optional<WallTime> settle_until;
  BatchId batch = 0;  ///< The batch with which the job was submitted; 0: none.
  Durability durability = Durability::disk;  ///< Never changes.

  bool operator==(const Job& other) const;
};

/// Jobs are shared and immutable; a change makes a new Job with the same spec.
using JobPtr = std::shared_ptr<const Job>;

/// Whether the job has failed and undoes what it has done: compensating, or running an undo.
bool is_compensating(const Job& job);

/// The state as clients see it: a compensation is one state, also while an undo is under way.
JobState shown_state(const Job& job);

/// Attempts at the current step, or at undoing it.
std::uint32_t current_attempt(const Job& job);

/// When the job expires; none while it compensates.
std::optional<WallTime> expiry_of(const Job& job);

/// Whether the unfinished job may still call the service of this step.
bool may_call(const Job& job, std::size_t step);

/// Whether the unfinished job may still have this step undone.
bool may_undo(const Job& job, std::size_t step);

/// The number of a cell's jobs in each state.
struct JobCounts {
  std::array<std::uint64_t, job_state_count> by_state{};
  std::uint64_t bytes = 0;  ///< The queued_bytes of those that have not ended.

  std::uint64_t& operator[](JobState state) { return by_state[static_cast<std::size_t>(state)]; }
  std::uint64_t operator[](JobState state) const {
    return by_state[static_cast<std::size_t>(state)];
  }
  /// All jobs that have not ended.
  std::uint64_t unfinished() const;

  JobCounts& operator+=(const JobCounts& other);
  JobCounts& operator-=(const JobCounts& other);

  bool operator==(const JobCounts&) const = default;
};

/// Roughly the memory that a job takes. Used to bound windows and pages.
std::size_t approximate_bytes(const Job& job);

}  // namespace cells
