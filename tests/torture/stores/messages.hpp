// Every request to a store and every answer, as values that can be kept, compared, altered and
// printed.
#pragma once

#include <cstddef>
#include <string>
#include <variant>

#include "cells/ports/job_store.hpp"
#include "src/store/memory_jobs.hpp"

namespace stores {

using namespace cells;  // NOLINT: everything here is about the port's messages.

/// The requests that a store handles in order. Each sees all earlier ones.
using Request =
    std::variant<StartEpoch, LoadCells, ListBacklogs, MoveJobs, ReleaseHolds, LoadCell, InsertJob,
                 FindKeyHolder, ClaimJob, RecordJob, CancelWaiting, ReopenEnded, HoldJob,
                 ChangeLane, FetchRunnable, AdvanceDue, PruneEnded, OpenBatch, CloseBatch,
                 MarkCancelled, NoteInMemory, LoadSchedules, SaveSchedule, RemoveSchedule,
                 AdvanceSchedule, SetCellOverride, FlushStore>;

/// The reads of what is committed.
using Look = std::variant<FindJob, ListJobs, FindOldestQueued, CountNeeds, FindBatch, ListBatches>;

/// The answer to an InsertJob whose id is in use.
struct IdInUse {};

/// `monostate`: the request has no answer.
using Answer =
    std::variant<std::monostate, IdInUse, EpochStarted, CellsLoaded, BacklogsListed, JobsMoved,
                 NeedsCounted, HoldsReleased, CellLoaded, JobInserted, KeyHolder, JobRecorded,
                 WaitingCancelled, EndedReopened, RunnableFetched, DueAdvanced, EndedPruned,
                 BatchOpened, BatchClosed, CancelledMarked, InMemoryNoted, SchedulesLoaded,
                 ScheduleSaved, ScheduleRemoved, ScheduleAdvanced, CellOverrideSet, StoreFlushed,
                 JobFound, JobsListed, OldestQueued, BatchFound, BatchesListed>;

/// Applies the request, and returns the answer that the port describes.
Answer apply(celld::store::MemoryJobs& jobs, const Request& request);

/// Compares every field of the answers, and jobs by their content.
bool is_same(const Answer& a, const Answer& b);
bool is_same(const JobPtr& a, const JobPtr& b);

/// Removes what depends on how jobs are divided among stores: the exact mark of a follower, which
/// is the greatest id of its own store, and the part of a batch that is in memory.
void blur(Answer& answer);
void blur(celld::store::StoreContent& content);

/// A field of one of the alternatives of Answer.
struct AnswerField {
  std::size_t alternative = 0;
  std::size_t field = 0;
};
/// The first field is number 0; nothing if there are fewer.
std::optional<AnswerField> answer_field(std::size_t number);
std::string to_text(const AnswerField& field);
/// Changes this field of an answer. False: the answer is another one, or the field has no part that
/// could change, such as an empty list.
bool alter(Answer& answer, const AnswerField& field);

std::string to_text(const JobPtr& job);
std::string to_text(const Request& request);
std::string to_text(const Look& look);
std::string to_text(const Answer& answer);

}  // namespace stores
