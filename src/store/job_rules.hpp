// What every store computes from a job alone: when it is due, whether it can run, what a filter
// says of it. One definition, so that the stores cannot differ.
#pragma once

#include <optional>

#include "cells/model/job.hpp"
#include "cells/ports/job_store.hpp"

namespace celld::store {

/// What a store knows of a job beside the job itself.
struct LineMarks {
  bool head = false;   ///< Heads its entity's line.
  bool held = false;   ///< By a HoldJob, until the next StartEpoch or ReleaseHolds.
  bool woken = false;  ///< Retrying, and an AdvanceDue has passed its `next_attempt_at`.

  bool operator==(const LineMarks&) const = default;
};

/// The epoch after `last` that begins at `now`.
std::uint64_t next_epoch(std::uint64_t last, cells::WallTime now);

/// Whether a FetchRunnable may list a job of this state.
bool is_runnable(cells::JobState state, const LineMarks& marks);

/// Ended, and still in its entity's line.
bool is_settling(const cells::Job& job);

/// Unfinished or settling: a restart has something to do for it.
bool is_open(const cells::Job& job);

/// Waits (not running, not ended) in this cell.
bool is_waiting_in(const cells::Job& job, const cells::CellKey& cell);

/// Waits (not running, not ended) and `expires_at` is at or before `now`.
bool is_expired(const cells::Job& job, cells::WallTime now);

/// The next moment at which an AdvanceDue has to look at the job.
std::optional<cells::WallTime> due_at(const cells::Job& job, const LineMarks& marks);

/// The version to keep when `next` replaces `stored`: the cell and the place are the store's to
/// change (by MoveJobs and AdvanceDue), whatever an asker with an older version in hand thinks; a
/// job that ends without settling gives its place up.
cells::JobPtr merge_version(const cells::Job& stored, cells::JobPtr next);

/// As merge_version, for a version that the store itself made.
cells::JobPtr with_place_given_up(cells::Job job);

/// Whether the job passes everything in the filter but its creation times, which `id_range` checks.
bool matches(const cells::JobFilter& filter, const cells::Job& job);

/// The ids that a ListJobs can still list: first <= id < end.
struct IdRange {
  cells::JobId first = 1;
  cells::JobId end = 0;

  bool empty() const { return first >= end; }
};
IdRange id_range(const cells::ListJobs& request);

}  // namespace celld::store
