// The transitions of the job store as plain code over maps. The in-memory store and the mixed store
// use them, and a test compares the SQLite store with them. No actor, no clock, no thread.
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

struct StoredJob {
  cells::JobPtr job;
  LineMarks marks;
};

/// From (customer, idempotency key) to (the job that holds it, digest of the request).
using KeyHolders =
    std::map<std::pair<std::string, std::string>, std::pair<cells::JobId, std::string>>;

/// Everything that a store keeps: its committed state.
struct StoreContent {
  std::map<cells::JobId, StoredJob> jobs;
  KeyHolders key_holders;
  std::map<cells::CellKey, cells::CellOverride> overrides;
  std::map<cells::BatchId, cells::Batch> batches{};
  std::map<std::string, cells::Schedule> schedules{};
  std::uint64_t epoch = 0;
  cells::JobId last_id = 0;  ///< The greatest id or place ever stored.
};

/// One change of one job. `before` is null for a new job, `after.job` for a removed one.
struct JobChange {
  cells::JobPtr before;
  StoredJob after;
};

/// Each `apply` is the transition that cells/ports/job_store.hpp describes at its message.
class MemoryJobs {
 public:
  MemoryJobs() = default;
  explicit MemoryJobs(const StoreContent& content);

  cells::EpochStarted apply(const cells::StartEpoch& request);
  cells::CellsLoaded apply(const cells::LoadCells&) const;
  cells::BacklogsListed apply(const cells::ListBacklogs& request) const;
  cells::JobsMoved apply(const cells::MoveJobs& request);
  cells::CellLoaded apply(const cells::LoadCell& request) const;
  /// None if the id is in use; then nothing changes.
  std::optional<cells::JobInserted> apply(const cells::InsertJob& request);
  cells::KeyHolder apply(const cells::FindKeyHolder& request);
  void apply(const cells::ClaimJob& request);
  cells::JobRecorded apply(const cells::RecordJob& request);
  cells::WaitingCancelled apply(const cells::CancelWaiting& request);
  cells::EndedReopened apply(const cells::ReopenEnded& request);
  void apply(const cells::HoldJob& request);
  cells::HoldsReleased apply(const cells::ReleaseHolds& request);
  void apply(const cells::ChangeLane& request);
  cells::RunnableFetched apply(const cells::FetchRunnable& request) const;
  cells::DueAdvanced apply(const cells::AdvanceDue& request);
  cells::EndedPruned apply(const cells::PruneEnded& request);
  cells::BatchOpened apply(const cells::OpenBatch& request);
  cells::BatchClosed apply(const cells::CloseBatch& request);
  cells::CancelledMarked apply(const cells::MarkCancelled& request);
  cells::InMemoryNoted apply(const cells::NoteInMemory& request);
  cells::SchedulesLoaded apply(const cells::LoadSchedules& request) const;
  cells::ScheduleSaved apply(const cells::SaveSchedule& request);
  cells::ScheduleRemoved apply(const cells::RemoveSchedule& request);
  cells::ScheduleAdvanced apply(const cells::AdvanceSchedule& request);
  cells::CellOverrideSet apply(const cells::SetCellOverride& request);
  cells::StoreFlushed apply(const cells::FlushStore&);

  /// Null if there is no such job.
  cells::JobPtr find(cells::JobId id) const;

  /// Why the customer has no room for a job like this.
  std::optional<cells::CustomerFull> refuse_room(const cells::CellKey& cell,
                                                 const cells::JobSpec& spec,
                                                 const cells::CustomerRoom& room) const;

  /// Removes a job as PruneEnded does. False: there is no such job, or it is open.
  bool remove_ended(cells::JobId id);

  /// Whether there is anything to commit besides claims.
  bool changed() const { return changed_; }
  /// The number of claims since the last `commit_to`.
  std::size_t claims() const { return claims_.size(); }
  /// Brings `content` up to date and returns the changes since the last call, oldest first. The
  /// cost depends on these changes alone.
  std::vector<JobChange> commit_to(StoreContent& content);

 private:
  /// (Customer, product).
  using RoutingKey = std::pair<std::string, std::string>;
  /// (-priority, place, id): best first.
  using Rank = std::tuple<int, cells::JobId, cells::JobId>;
  using Lane = std::map<std::string, std::map<Rank, cells::JobPtr>>;  ///< By customer.
  /// (Lane if runnable, turn, place, id): the order in which MoveJobs takes jobs.
  using MoveRank = std::tuple<std::string, std::optional<std::int64_t>, cells::JobId, cells::JobId>;
  struct Cell {
    cells::JobCounts counts;               ///< Of unfinished jobs.
    std::map<std::string, Lane> runnable;  ///< By the name of the lane.
    std::set<std::pair<cells::WallTime, cells::JobId>> due;
    std::set<cells::JobId> running;
    std::set<cells::JobId> held;
    std::map<RoutingKey, std::set<MoveRank>> open;
    std::map<std::string, cells::JobCounts> by_customer;  ///< Of unfinished jobs; no empty counts.
  };
  static MoveRank move_rank_of(const StoredJob& stored);

  /// The jobs of one entity that have a place, as (place, id).
  using Line = std::set<std::pair<cells::JobId, cells::JobId>>;
  struct ByEntity {
    bool operator()(const std::shared_ptr<const cells::JobSpec>& a,
                    const std::shared_ptr<const cells::JobSpec>& b) const;
  };

  void change(StoredJob& stored, cells::JobPtr job, LineMarks marks);
  void add_to_indexes(const StoredJob& stored);
  void remove_from_indexes(const StoredJob& stored);
  bool enter_line(const cells::Job& job);
  cells::JobPtr leave_line(const cells::Job& job);
  cells::JobPtr mark_follower(const cells::Job& before, const cells::Job& after, bool was_head);
  void replace(StoredJob& stored, cells::JobPtr job, LineMarks marks, cells::JobPtr& promoted);
  void advance_one(StoredJob& stored, const cells::AdvanceDue& request, cells::DueAdvanced& done);
  void remove(cells::JobId id);
  cells::JobPtr reveal(cells::JobId id);
  void note_id(cells::JobId id);
  cells::Batch* touch_batch(cells::BatchId id);
  void drop_batch(cells::BatchId id);
  /// The answer counts no jobs.
  cells::EndedPruned drop_deserted(cells::WallTime before, std::size_t limit);
  bool advance(const cells::ScheduleAdvance& request, std::optional<cells::JobId> job);

  std::map<cells::JobId, StoredJob> jobs_;
  std::map<cells::CellKey, Cell> cells_;  ///< Those with open jobs.
  std::map<std::shared_ptr<const cells::JobSpec>, Line, ByEntity> lines_;
  std::set<std::pair<cells::WallTime, cells::JobId>> ended_;  ///< Jobs in no line, by finished_at.
  KeyHolders key_holders_;
  std::map<cells::JobId, KeyHolders::key_type> keys_;  ///< By the job that holds it.
  std::vector<KeyHolders::key_type> changed_keys_;     ///< Since the last commit.
  std::map<cells::CellKey, cells::CellOverride> overrides_;
  std::map<cells::BatchId, cells::Batch> batches_;
  std::set<cells::BatchId> changed_batches_;  ///< Since the last commit.
  std::map<std::string, cells::Schedule> schedules_;
  std::set<std::string> changed_schedules_;  ///< Since the last commit.
  std::uint64_t epoch_ = 0;
  cells::JobId last_id_ = 0;
  std::vector<JobChange> changes_;
  bool changed_ = false;
  std::set<cells::JobId> claims_;
};

/// The answer that describes `jobs`.
cells::NeedsCounted count_needs(const std::map<cells::JobId, StoredJob>& jobs,
                                const cells::CountNeeds& request);

}  // namespace celld::store
