// The memory that jobs in memory take, and which ended jobs can make room for others.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cells/ports/job_store.hpp"

namespace celld::store {

/// What a job takes in a store in memory, with its places in the indexes, in bytes. An upper
/// estimate: tests/bench/bench_memory.cpp compares it with what the process takes.
std::uint64_t memory_bytes(const cells::Job& job);

/// Counts by cell. Any thread may call `bytes` and `limit`; everything else is for one thread.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  /// A job has changed. `before` is null for a new job, `after` for a removed one.
  void changed(const cells::Job* before, const cells::Job* after);

  /// Of all jobs.
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t bytes_of(const cells::CellKey& cell) const;
  /// Bounds the bytes of all jobs. If they exceed the bound, ended jobs make room when the next job
  /// comes.
  void limit(std::uint64_t bytes_max) { bytes_max_ = bytes_max; }

  /// Makes room for a new job. Returns ended jobs to remove, starting with those that ended first;
  /// or, if that is not enough, the bound that would be exceeded. `cell_bytes_max` bounds the jobs
  /// of its cell.
  struct Room {
    std::vector<cells::JobId> to_remove;
    std::optional<cells::MemoryFull> full;
  };
  Room room_for(const cells::Job& job, std::uint64_t cell_bytes_max);

  /// The ended jobs to remove because the jobs of this cell have grown.
  std::vector<cells::JobId> excess(const cells::CellKey& cell);

 private:
  /// When a job ended, and the job.
  using End = std::pair<cells::WallTime, cells::JobId>;
  struct Ended {
    std::map<End, std::uint64_t> bytes;  ///< Of each job.
    std::uint64_t sum = 0;
  };
  struct Cell {
    std::uint64_t bytes = 0;
    std::uint64_t bytes_max = 0;  ///< As the latest new job of the cell named it.
    Ended ended;
  };
  /// Ended jobs to be removed, in order.
  struct Chosen {
    std::set<End> ends;
    std::uint64_t bytes = 0;
  };

  void add(const cells::Job& job);
  void subtract(const cells::Job& job);
  static void choose(const Ended& from, std::uint64_t excess, Chosen& chosen);

  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> bytes_max_;
  std::map<cells::CellKey, Cell> cells_;  ///< Those that have jobs.
  Ended ended_;                           ///< Of all cells.
};

}  // namespace celld::store
