// A job: what was asked for, and how far it has come.
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
#include "cells/model/ids.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// Where a job stands. cells/model/job_machine.hpp has the transitions and their picture.
enum class JobState : std::uint8_t {
  scheduled,     ///< Not due yet; has no place in its entity's line. Left when `run_at` comes.
  queued,        ///< Due, waits for a worker, or for the head of its entity's line.
  running,       ///< One live lease. After a crash: aborted, counted as an interruption, queued.
  retrying,      ///< Head of its entity's line, waits for `next_attempt_at`, then for a worker.
  compensating,  ///< Undoes the steps that had succeeded. Reserved: nothing enters it yet.
  succeeded,     ///< End: every step succeeded.
  failed,        ///< End: a step failed for good, or the job expired.
  cancelled,     ///< End: somebody asked for it.
};
inline constexpr std::size_t job_state_count = 8;

enum class StepState : std::uint8_t {
  waiting,      ///< Not tried yet.
  running,      ///< An attempt is under way.
  retrying,     ///< An attempt failed; another follows.
  succeeded,    ///< Checkpointed; never run again.
  failed,       ///< No further attempt.
  undone,       ///< Compensated. Reserved.
  undo_failed,  ///< Could not be compensated. Reserved.
  skipped,      ///< The job ended before its turn.
};

enum class Severity : std::uint8_t { info, warning, error };

/// What happens to the steps that had succeeded when a later one fails for good.
enum class OnFailure : std::uint8_t { stop };

/// The names of API.md, for example "queued".
std::string_view to_string(JobState state);
std::string_view to_string(StepState state);
std::string_view to_string(Severity severity);
std::string_view to_string(OnFailure on_failure);
/// The inverse; nothing for an unknown name.
std::optional<JobState> parse_job_state(std::string_view name);
std::optional<StepState> parse_step_state(std::string_view name);
std::optional<Severity> parse_severity(std::string_view name);
std::optional<OnFailure> parse_on_failure(std::string_view name);

/// True for succeeded, failed and cancelled.
bool is_ended(JobState state);

/// What a job is about. Two jobs of one customer and product with the same type and id never have
/// calls in flight at once (promise P6); the subtype does not take part.
struct Entity {
  std::string type;
  std::string subtype;  ///< Empty: none.
  std::string id;

  bool operator==(const Entity&) const = default;
};

/// Top-level member name → its value as JSON text. The engine merges by name and never looks into
/// a value.
using Properties = std::map<std::string, std::string>;

/// What was asked for; never changes after the job was accepted.
struct JobSpec {
  std::string customer;
  std::string product;
  std::string action;
  Entity entity;
  std::vector<std::string> services;  ///< 1 to 16, in order, none twice.
  std::string parameters = "{}";      ///< A JSON object as text.
  std::map<std::string, std::string> labels;
  std::string traceparent;         ///< W3C trace context as received; empty: none.
  int priority = 5;                ///< 1 to 9, 9 first.
  milliseconds timeout{};          ///< For one attempt at one service.
  std::uint32_t max_attempts = 0;  ///< Per step.
  OnFailure on_failure = OnFailure::stop;

  bool operator==(const JobSpec&) const = default;
};

struct Step {
  StepState state = StepState::waiting;
  std::uint32_t attempts = 0;  ///< Counted ones only: see CallOutcome.
  std::optional<WallTime> started_at;
  std::optional<WallTime> finished_at;
  std::optional<double> progress;  ///< 0 to 1, as last reported.

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
  std::string code;  ///< A code of API.md, or a provider's own.
  std::string message;
  std::string service;  ///< Empty when no single service is to blame.

  bool operator==(const JobError&) const = default;
};

/// A job as the engine carries it and the store keeps it.
struct Job {
  JobId id = 0;
  std::shared_ptr<const JobSpec> spec;
  CellKey cell;
  JobState state = JobState::queued;
  /// Its place in its entity's line; 0 until the job is first due. Kept through retries; given up
  /// at the end, or when `settle_until` has passed.
  JobId place = 0;
  std::size_t step = 0;     ///< Index of the current step; steps.size() when all succeeded.
  std::vector<Step> steps;  ///< One per service of the spec.
  Properties properties;    ///< Merged results of the steps.
  std::vector<Message> messages;
  std::optional<JobError> error;
  Lease lease;                      ///< The last one given; live while running.
  std::uint32_t interruptions = 0;  ///< Attempts in a row cut short by a crash.
  bool cancel_requested = false;
  WallTime created_at{};
  WallTime run_at{};
  std::optional<WallTime> expires_at;
  std::optional<WallTime> started_at;  ///< Of the first attempt.
  std::optional<WallTime> finished_at;
  std::optional<WallTime> next_attempt_at;  ///< Set exactly while retrying.
  /// Until when the entity is kept after an attempt with an unknown outcome: no call is made for it
  /// before. An ended job holds its entity's line until then.
  std::optional<WallTime> settle_until;

  bool operator==(const Job& other) const;
};

/// Jobs are shared and immutable; a change is a new Job with the same spec.
using JobPtr = std::shared_ptr<const Job>;

/// The number of jobs of a cell in each state; indexed by JobState.
struct JobCounts {
  std::array<std::uint64_t, job_state_count> by_state{};

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

/// Bytes that a job's variable parts take in memory: windows and pages are bounded by it.
std::size_t approximate_bytes(const Job& job);

}  // namespace cells
