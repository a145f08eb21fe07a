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
  /// A new partition of an index with random keys begins after this many jobs (partitions.hpp).
  std::size_t partition_jobs = 131'072;
  /// The most such partitions of an index that the writer searches. Beyond that, it moves the keys
  /// of the oldest one to a table.
  std::size_t partitions_max = 64;
  /// After a start, a commit adds 64 keys to filters for each new job, within these bounds.
  std::size_t filtered_min = 512;
  std::size_t filtered_max = 16'384;
  std::size_t batches = 256;  ///< Whose rows stay in memory after a commit.
  /// Changes of backlogs that are appended before they are merged into the table of all backlogs.
  std::size_t route_changes = 2048;
};

}  // namespace celld::store
