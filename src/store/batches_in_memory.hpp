// The counts of each batch over its jobs in memory. The row of the batch is on disk, so that it
// outlives the daemon. The row is updated from time to time; later changes are in memory alone.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cells/model/batch.hpp"

namespace celld::store {

/// Any thread may call `find`; everything else is for one thread.
class BatchesInMemory {
 public:
  using Noted = std::pair<cells::BatchId, cells::BatchInMemory>;

  /// A batch is due after this many changes.
  explicit BatchesInMemory(std::size_t changes_max = 1000) : changes_max_(changes_max) {}

  /// A job in memory has changed. `before` is null for a new job, `after` for a removed one.
  void changed(const cells::Job* before, const cells::Job* after);
  /// The batch gets no more jobs. True: it has, or had, jobs in memory.
  bool close(cells::BatchId id);

  /// None: the batch has no counts in memory; its row is complete.
  std::optional<cells::BatchInMemory> find(cells::BatchId id) const;
  std::map<cells::BatchId, cells::BatchInMemory> all() const;

  /// The counts to write to disk now. A batch is due when its first job has come, after many
  /// changes, and when it is closed; after that, when its last unfinished job has ended and when
  /// its last job has been removed.
  std::vector<Noted> take_due();
  /// The counts that are not on disk yet.
  std::vector<Noted> take_unnoted();
  /// These counts are on disk. Forgets the batch if it is closed and has no jobs.
  void noted(const Noted& on_disk);

 private:
  struct Entry {
    cells::BatchInMemory jobs;
    std::size_t changes = 0;  ///< Since it was taken.
    bool is_open = true;
    bool is_due = false;
  };

  void make_due(cells::BatchId id, Entry& entry);
  Noted take(cells::BatchId id, Entry& entry);

  const std::size_t changes_max_;
  mutable std::mutex mutex_;  ///< Guards the entries.
  std::map<cells::BatchId, Entry> entries_;
  std::vector<cells::BatchId> due_;
};

}  // namespace celld::store
