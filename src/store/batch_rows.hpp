// The rows of batches, for the SQLite store's writer. A batch is in memory while its jobs change;
// each commit writes the row of every batch that has changed since the last one. The counts
// therefore always match the jobs, and reading a batch takes one row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cells/model/batch.hpp"
#include "src/store/backlogs.hpp"
#include "src/store/sqlite.hpp"

namespace celld::store {

/// SQL that selects the columns for read_batch; `where` is what follows `FROM batches`.
std::string select_batches(const char* where);
/// Reads the current row of a statement made by select_batches.
cells::Batch read_batch(const Statement& row);

class BatchRows {
 public:
  /// At most `kept_max` rows stay in memory after a commit.
  BatchRows(Connection& connection, std::size_t kept_max);

  /// False: the id is in use.
  bool open(cells::BatchId id, const cells::BatchOwner& owner, cells::WallTime now);
  /// None: there is no such batch.
  std::optional<cells::Batch> close(cells::BatchId id, cells::WallTime now);
  /// The daemon has restarted, with these jobs in memory.
  void start(const std::map<cells::BatchId, cells::BatchInMemory>& kept, cells::WallTime now);
  void count_in_memory(cells::BatchId id, const cells::BatchInMemory& jobs);
  bool mark_cancelled(cells::BatchId id, bool is_cancelled);

  // A job of the batch; nothing happens if there is no such batch, as for jobs without one.
  void add(const cells::Job& job);
  void change(const Standing& before, cells::JobState after,
              std::optional<cells::WallTime> ended_at);
  void remove(cells::BatchId id);

  struct Removed {
    std::size_t batches = 0;
    cells::WallTime last_end{};  ///< Of the last one.
  };
  /// Removes closed batches without jobs whose `last_end` is before this time, the earliest first,
  /// at most `limit` of them.
  Removed remove_deserted(cells::WallTime before, std::size_t limit);

  /// Part of each commit.
  void save();

 private:
  struct Entry {
    cells::Batch batch;
    bool is_dirty = false;
  };

  Entry* find(cells::BatchId id);
  Entry* touch(cells::BatchId id);
  void drop(cells::BatchId id);

  const std::size_t kept_max_;
  Statement insert_;
  Statement select_;
  Statement update_;
  Statement delete_;
  Statement select_unsettled_;
  Statement select_deserted_;
  std::unordered_map<cells::BatchId, Entry> entries_;  ///< Rows that were used recently.
  std::vector<cells::BatchId> dirty_;
};

}  // namespace celld::store
