// What every store derives from a job alone: when it is due, whether it can run, whether it matches
// a filter. All stores share this definition, so that they cannot differ.
#pragma once

#include <cstdint>
#include <optional>

#include "cells/model/job.hpp"
#include "cells/ports/job_store.hpp"

namespace celld::store {

/// What a store keeps about a job besides the job itself.
struct LineMarks {
  bool head = false;  ///< Heads its entity's line.
  bool held = false;  ///< By a HoldJob, until a ReleaseHolds.
  /// Retrying or compensating, with nothing to wait for: an AdvanceDue has reached its
  /// `next_attempt_at`, or it has none.
  bool woken = false;

  bool operator==(const LineMarks&) const = default;
};

/// The epoch that follows `last` when celld starts at `now`.
std::uint64_t next_epoch(std::uint64_t last, cells::WallTime now);

/// Whether FetchRunnable lists such a job.
bool is_runnable(cells::JobState state, const LineMarks& marks);

/// Retrying or compensating: waits for its next attempt.
bool awaits_attempt(cells::JobState state);

/// Whether a job that is stored in this state is woken.
bool starts_woken(const cells::Job& job);

/// A runnable job in lane number n has a turn t with 0 <= t - n * turns_per_lane < turns_runnable.
inline constexpr std::int64_t turns_per_lane = 100;
inline constexpr std::int64_t turns_runnable = 10;

/// The turn of an unfinished or settling job: the number that orders a backlog. Runnable jobs have
/// turns by lane and, within a lane, by descending priority; the others have turns by state, which
/// follow those of lane 0. The lane of workers inside has the number 0.
std::optional<std::int64_t> turn_of(const cells::Job& job, const LineMarks& marks,
                                    std::int64_t lane);

/// Ended, but still in its entity's line.
bool is_settling(const cells::Job& job);

/// Unfinished or settling: there is work left for it after a restart.
bool is_open(const cells::Job& job);

/// Waiting (neither running nor ended) in this cell.
bool is_waiting_in(const cells::Job& job, const cells::CellKey& cell);

/// Waiting (neither running nor ended), with `expires_at` at or before `now`.
bool is_expired(const cells::Job& job, cells::WallTime now);

/// The next time at which AdvanceDue has to process the job.
std::optional<cells::WallTime> due_at(const cells::Job& job, const LineMarks& marks);

/// The version to store when `next` replaces `stored`. It keeps the cell, the place and the
/// `failed_ahead` of `stored`: only the store changes them, and `next` may derive from an older
/// version. A job that ends without settling gives up its place.
cells::JobPtr merge_version(const cells::Job& stored, cells::JobPtr next);

/// Like merge_version, for a version that the store itself made.
cells::JobPtr with_place_given_up(cells::Job job);

/// The `failed_ahead` that a job which has ended in its line passes on; 0: none. `last_id` is the
/// greatest id or place in the store.
cells::JobId failed_up_to(const cells::Job& ended, cells::JobId last_id);

/// Whether the next job in the line takes this `failed_ahead`.
bool is_follower(const cells::Job& job, cells::JobId failed_ahead);

/// Whether the job matches the filter, apart from its creation times, which `id_range` covers.
bool matches(const cells::JobFilter& filter, const cells::Job& job);

/// The ids that a ListJobs can list: first <= id < end.
struct IdRange {
  cells::JobId first = 1;
  cells::JobId end = 0;

  bool empty() const { return first >= end; }
};
IdRange id_range(const cells::ListJobs& request);

}  // namespace celld::store
