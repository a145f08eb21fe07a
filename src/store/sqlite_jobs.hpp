// The transitions of the job store on an SQLite database, as plain code. MemoryJobs implements the
// same transitions with maps. Operations run one after the other inside one transaction, which
// `commit` ends; the caller must send no answer before that. Every member throws SqliteFailure if
// the database fails; after that, only the destructor may be called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cells/ports/job_store.hpp"
#include "src/store/backlogs.hpp"
#include "src/store/batch_rows.hpp"
#include "src/store/job_indexes.hpp"
#include "src/store/record.hpp"
#include "src/store/schedule_rows.hpp"
#include "src/store/sqlite.hpp"
#include "src/store/write_limits.hpp"

namespace celld::store {

class SqliteJobs {
 public:
  /// Needs the only connection that writes, and an up-to-date schema.
  SqliteJobs(Connection& connection, const WriteLimits& limits);

  cells::EpochStarted apply(const cells::StartEpoch& request);
  cells::CellsLoaded apply(const cells::LoadCells&);
  cells::BacklogsListed apply(const cells::ListBacklogs& request);
  cells::JobsMoved apply(const cells::MoveJobs& request);
  cells::CellLoaded apply(const cells::LoadCell& request);
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
  cells::RunnableFetched apply(const cells::FetchRunnable& request);
  cells::DueAdvanced apply(const cells::AdvanceDue& request);
  cells::EndedPruned apply(const cells::PruneEnded& request);
  cells::BatchOpened apply(const cells::OpenBatch& request);
  cells::BatchClosed apply(const cells::CloseBatch& request);
  cells::CancelledMarked apply(const cells::MarkCancelled& request);
  cells::InMemoryNoted apply(const cells::NoteInMemory& request);
  cells::SchedulesLoaded apply(const cells::LoadSchedules& request);
  cells::ScheduleSaved apply(const cells::SaveSchedule& request);
  cells::ScheduleRemoved apply(const cells::RemoveSchedule& request);
  cells::ScheduleAdvanced apply(const cells::AdvanceSchedule& request);
  cells::CellOverrideSet apply(const cells::SetCellOverride& request);
  cells::StoreFlushed apply(const cells::FlushStore&);

  /// Whether there is anything to commit besides claims.
  bool changed() const { return changed_; }
  /// The number of claims that wait for the next commit.
  std::size_t claims() const { return claims_.size(); }
  /// Makes every change so far durable, including the claims.
  void commit();

 private:
  /// A claimed job that is not in the database yet: if its end is recorded before the next commit,
  /// the job needs one write instead of two. `backlogs_` already counts it as running. The turn of
  /// `standing` is still that of its row.
  struct Claim {
    cells::JobPtr job;
    Standing standing;
  };

  void enter();
  void touch();
  std::optional<Standing> standing_of(cells::JobId id);
  JobRow load(cells::JobId id);
  std::optional<JobRow> find(cells::JobId id);
  void note_place(cells::JobId place);
  std::uint64_t move(cells::JobId id, Standing& job, std::int64_t to);
  std::optional<cells::CustomerFull> refuse_room(const cells::CellKey& cell,
                                                 const cells::JobSpec& spec,
                                                 const cells::CustomerRoom& room) const;
  void save_quota(std::int64_t cell, const cells::QuotaOverride& quota);
  void load_quotas();
  cells::JobPtr replace(const Standing& before, const cells::JobPtr& next, LineMarks marks);
  cells::Job stored_part(const Standing& at);
  cells::JobId head_of_line(std::int64_t routing_key, const cells::Entity& entity);
  cells::JobId next_in_line(std::int64_t routing_key, const cells::Entity& entity,
                            cells::JobId place, cells::JobId except);
  cells::JobId mark_follower(const Standing& before, const cells::Job& after);
  cells::JobPtr promote_next(std::int64_t routing_key, const cells::Entity& entity);
  void set_marks(cells::JobId id, const Standing& before, LineMarks marks, std::int64_t lane);
  void write_claims();
  void write_claim(cells::JobId id);
  void write(const Claim& claim);
  void insert_labels(const cells::Job& job);
  std::vector<cells::JobId> due_jobs(std::int64_t cell, cells::WallTime now, std::size_t limit);
  std::optional<cells::WallTime> next_due(std::int64_t cell,
                                          const std::vector<cells::JobPtr>& excluded);
  void advance_one(const JobRow& row, const cells::AdvanceDue& request, cells::DueAdvanced& done);
  struct EndedRow;
  void remove(const EndedRow& row);
  std::vector<std::int64_t> other_lanes(const Backlogs::Cell& cell);
  std::vector<cells::JobId> held_jobs(std::int64_t cell, cells::JobId after, std::size_t limit);
  std::vector<cells::JobId> best_of(const std::vector<Backlogs::Backlog*>& backlogs,
                                    std::int64_t lane, std::size_t limit,
                                    cells::milliseconds priority_step);

  Connection& connection_;
  const WriteLimits limits_;
  Backlogs backlogs_;
  JobIndexes indexes_;
  BatchRows batches_;
  ScheduleRows schedules_;
  InsertStatement insert_;
  UpdateStatement update_;
  Statement insert_label_;
  Statement insert_key_;
  Statement select_key_;
  Statement select_standing_;
  Statement select_job_;
  Statement is_job_of_line_;
  Statement update_marks_;
  Statement update_due_;
  Statement update_cell_;
  Statement update_failed_ahead_;
  Statement select_held_;
  Statement select_due_;
  Statement select_ended_;
  Statement delete_job_;
  Statement delete_label_;
  Statement delete_key_;
  Statement save_setting_;
  Statement save_override_;
  Statement drop_override_;
  Statement save_quota_;
  Statement drop_quota_;
  std::map<cells::JobId, Claim> claims_;
  std::map<cells::CellKey, cells::CellOverride> overrides_;
  std::uint64_t epoch_ = 0;
  cells::JobId last_id_ = 0;
  cells::JobId saved_last_place_ = 0;
  cells::JobId last_place_ = 0;
  bool changed_ = false;
};

}  // namespace celld::store
