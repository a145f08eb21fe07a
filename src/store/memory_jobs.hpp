// The transitions of the job store as plain code over maps: the in-memory store runs on it, and the
// SQLite store is compared with it. No actor, no clock, no thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cells/ports/job_store.hpp"
#include "src/store/job_rules.hpp"

namespace celld::store {

/// A job as a store keeps it.
struct StoredJob {
  cells::JobPtr job;
  LineMarks marks;
};

/// Who holds which idempotency key: by customer and key, the job and the request's digest.
using KeyHolders =
    std::map<std::pair<std::string, std::string>, std::pair<cells::JobId, std::string>>;

/// Everything that a store keeps; what is committed has this form.
struct StoreContent {
  std::map<cells::JobId, StoredJob> jobs;
  KeyHolders key_holders;
  std::map<cells::CellKey, cells::CellOverride> overrides;
  std::uint64_t epoch = 0;
  cells::JobId last_id = 0;  ///< The greatest id or place ever stored.
};

/// One change of one job, in the order in which they were made. `before` is null for a new job,
/// `after.job` for one that was removed.
struct JobChange {
  cells::JobPtr before;
  StoredJob after;
};

/// Each operation is the transition described at its message in cells/ports/job_store.hpp.
class MemoryJobs {
 public:
  MemoryJobs() = default;
  explicit MemoryJobs(const StoreContent& content);

  cells::EpochStarted apply(const cells::StartEpoch& request);
  cells::CellsLoaded apply(const cells::LoadCells&) const;
  cells::BacklogsListed apply(const cells::ListBacklogs& request) const;
  cells::JobsMoved apply(const cells::MoveJobs& request);
  cells::NeedsCounted apply(const cells::CountNeeds& request) const;
  void apply(const cells::ReleaseHolds&);
  cells::CellLoaded apply(const cells::LoadCell& request) const;
  /// Nothing when a job of this id is there already; then nothing is changed.
  std::optional<cells::JobInserted> apply(const cells::InsertJob& request);
  cells::KeyHolder apply(const cells::FindKeyHolder& request) const;
  void apply(const cells::ClaimJob& request);
  cells::JobRecorded apply(const cells::RecordJob& request);
  cells::WaitingCancelled apply(const cells::CancelWaiting& request);
  cells::EndedReopened apply(const cells::ReopenEnded& request);
  void apply(const cells::HoldJob& request);
  cells::RunnableFetched apply(const cells::FetchRunnable& request) const;
  cells::DueAdvanced apply(const cells::AdvanceDue& request);
  cells::EndedPruned apply(const cells::PruneEnded& request);
  cells::CellOverrideSet apply(const cells::SetCellOverride& request);
  static cells::StoreFlushed apply(const cells::FlushStore&) { return {}; }

  /// Null: there is none.
  cells::JobPtr find(cells::JobId id) const;

  /// True when something changed since the last `commit_to`.
  bool changed() const { return changed_; }
  /// Brings `content` up to date at the cost of the changes since the last call, and returns them.
  std::vector<JobChange> commit_to(StoreContent& content);

 private:
  /// (Customer, product).
  using RoutingKey = std::pair<std::string, std::string>;
  /// (Minus priority, place, id): best first.
  using Rank = std::tuple<int, cells::JobId, cells::JobId>;
  struct Cell {
    cells::JobCounts counts;                                        ///< Of unfinished jobs.
    std::map<std::string, std::map<Rank, cells::JobPtr>> runnable;  ///< By customer.
    std::set<std::pair<cells::WallTime, cells::JobId>> due;
    std::set<cells::JobId> running;
    std::map<RoutingKey, std::set<cells::JobId>> open;
  };
  /// The jobs of one entity that have a place.
  using Line = std::set<std::pair<cells::JobId, cells::JobId>>;  ///< (Place, id).
  struct ByEntity {
    bool operator()(const std::shared_ptr<const cells::JobSpec>& a,
                    const std::shared_ptr<const cells::JobSpec>& b) const;
  };

  void change(StoredJob& stored, cells::JobPtr job, LineMarks marks);
  void add_to_indexes(const StoredJob& stored);
  void remove_from_indexes(const StoredJob& stored);
  bool enter_line(const cells::Job& job);
  cells::JobPtr leave_line(const cells::Job& job);
  void replace(StoredJob& stored, cells::JobPtr job, LineMarks marks, cells::JobPtr& promoted);
  void advance_one(StoredJob& stored, const cells::AdvanceDue& request, cells::DueAdvanced& done);
  void remove(cells::JobId id);
  void note_id(cells::JobId id);

  std::map<cells::JobId, StoredJob> jobs_;
  std::map<cells::CellKey, Cell> cells_;
  std::map<std::shared_ptr<const cells::JobSpec>, Line, ByEntity> lines_;
  std::set<std::pair<cells::WallTime, cells::JobId>> ended_;  ///< In no line; by their ends.
  KeyHolders key_holders_;
  std::map<cells::JobId, KeyHolders::key_type> keys_;  ///< By their holders.
  std::vector<KeyHolders::key_type> changed_keys_;     ///< Since the last commit.
  std::map<cells::CellKey, cells::CellOverride> overrides_;
  std::uint64_t epoch_ = 0;
  cells::JobId last_id_ = 0;
  std::vector<JobChange> changes_;
  bool changed_ = false;
};

}  // namespace celld::store
