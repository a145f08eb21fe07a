// The limits of the SQLite store's writer.
#pragma once

#include <cstddef>

namespace celld::store {

/// How much the SQLite store's writer handles at a time.
struct WriteLimits {
  /// Recent jobs whose keys are written behind together (behind_index.hpp). Up to twice as many are
  /// indexed in memory; a start reads their rows.
  std::size_t generation_jobs = 16384;
  /// Jobs that come before a commit moves keys again: few keys are not worth the pages they touch.
  std::size_t jobs_per_move = 128;
  /// One commit moves the keys of at most this many jobs; later ones move the rest.
  std::size_t jobs_per_commit_max = 4096;
  /// Keys that are written behind for each of these jobs. A job has at most one key in each of five
  /// tables, so with more than five a move ends before the next generation is complete.
  std::size_t moved_per_job = 7;
  /// A new partition of an index with random keys begins after this many jobs (partitions.hpp).
  std::size_t partition_jobs = 131'072;
  /// The most such partitions of an index that the writer searches. Beyond that, it moves the keys
  /// of the oldest one to a table.
  std::size_t partitions_max = 64;
  /// Multiplies `partitions_max` for an index that the writer does not search: only readers pay for
  /// its partitions, when they list jobs.
  std::size_t partitions_per_list = 8;
  /// While there are too many partitions, this many keys leave the oldest one for each new job. A
  /// partition begins with every `partition_jobs` jobs, so another one must be gone by then.
  std::size_t retired_per_job = 2;
  /// The least that one commit takes out of a partition, unless a partition has fewer jobs: enough
  /// keys to be worth the pages that they touch.
  std::size_t retired_min = 256;
  /// Partitions that are looked at, once per generation, to find empty ones. At most one begins
  /// with each generation, so a few are enough.
  std::size_t partitions_looked_at = 4;
  /// After a start, a commit adds this many keys to filters for each new job, within the bounds
  /// below.
  std::size_t filtered_per_job = 64;
  std::size_t filtered_min = 512;
  std::size_t filtered_max = 16'384;
  std::size_t batches = 256;  ///< Whose rows stay in memory after a commit.
  /// Changes of backlogs that are appended before they are merged into the table of all backlogs.
  std::size_t route_changes = 2048;
};

}  // namespace celld::store
