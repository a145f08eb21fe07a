// A batch: the jobs that one request submitted, counted by state.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "cells/model/ids.hpp"
#include "cells/model/job.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// The client that posted a batch.
struct BatchOwner {
  std::string token;     ///< The name of its token; empty: it had none.
  std::string customer;  ///< The customer that the token was bound to; empty: none.

  auto operator<=>(const BatchOwner&) const = default;
};

/// The jobs of a batch that are or were in memory. Their counts are stored from time to time, not
/// with each change.
struct BatchInMemory {
  JobCounts counts;
  std::uint64_t stored = 0;  ///< Jobs that have not been removed.
  /// The latest time at which one of them ended.
  std::optional<WallTime> last_end{};

  bool operator==(const BatchInMemory&) const = default;
};

/// A batch as the store keeps it. Its counts change in the same commit as its jobs, apart from
/// those of jobs in memory.
struct Batch {
  BatchId id = 0;
  BatchOwner owner;
  WallTime created_at{};
  /// Every job that was accepted. A job that retention has removed stays counted in the state in
  /// which it ended.
  JobCounts counts;
  std::uint64_t stored = 0;   ///< Jobs that have not been removed.
  bool is_open = true;        ///< More jobs may come.
  bool is_cancelled = false;  ///< Its jobs are being cancelled.
  /// The latest time at which a job ended or the batch was closed.
  std::optional<WallTime> last_end;
  /// The part of `counts` and `stored` that jobs in memory account for.
  BatchInMemory in_memory;
  std::uint64_t forgotten = 0;  ///< Unfinished jobs in memory that a restart lost.

  bool operator==(const Batch&) const = default;
};

/// The number of jobs that were accepted.
std::uint64_t total_of(const Batch& batch);

/// From 0 to 1; only a finished batch reaches 1.
double progress_of(const Batch& batch);

/// When the last job ended; none while the batch is open or has an unfinished job. A job that is
/// reopened makes the batch unfinished again.
std::optional<WallTime> finished_at(const Batch& batch);

/// Whether the batch is closed and none of its jobs is stored. The store removes a batch together
/// with its last job, and a batch without jobs when retention reaches `last_end`.
bool is_deserted(const Batch& batch);

// The changes of a batch.

void add_job(Batch& batch, const Job& job);
void change_job(Batch& batch, JobState before, JobState after, std::optional<WallTime> ended_at);
void remove_job(Batch& batch);
void close(Batch& batch, WallTime now);
/// Counts these jobs in memory in place of those counted before.
void count_in_memory(Batch& batch, const BatchInMemory& jobs);
/// The daemon has restarted. Of the jobs in memory, only `kept` still exist: the others stay
/// counted if they had ended, and are forgotten otherwise.
void forget_memory(Batch& batch, const BatchInMemory& kept, WallTime now);

}  // namespace cells
