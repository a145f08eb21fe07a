// The contract of cells/ports/job_store.hpp as tests. Every store has to pass the same ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cells/ports/job_store.hpp"
#include "tests/unit/catch.hpp"

namespace celld::store::test {

/// A store of one kind for a test, empty at first.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  /// Of the jobs that the tests give it; none: of both kinds.
  virtual std::optional<cells::Durability> durability() const { return cells::Durability::disk; }
  virtual cells::JobStore store() const = 0;
  virtual cells::JobReader reader() const = 0;
  /// Kills the store, as a crash after the last commit would, and opens it again.
  virtual void reopen() = 0;
  virtual caf::actor_system& system() = 0;
};

/// Makes an empty store.
using MakeStore = std::function<std::unique_ptr<StoreUnderTest>()>;
/// The kinds of store, each with its name.
const std::vector<std::pair<std::string, MakeStore>>& store_kinds();

/// Sends requests to a store and waits up to 60 s for each answer. Requests that name a kind of
/// jobs name that of the store under test, and new jobs in memory always find room.
class Client {
 public:
  explicit Client(StoreUnderTest& under_test) : under_test_(under_test) {}

  cells::EpochStarted ask(const cells::StartEpoch& request);
  cells::CellsLoaded ask(const cells::LoadCells& request);
  cells::BacklogsListed ask(const cells::ListBacklogs& request);
  cells::JobsMoved ask(const cells::MoveJobs& request);
  cells::NeedsCounted ask(const cells::CountNeeds& request);
  cells::CellLoaded ask(const cells::LoadCell& request);
  cells::HoldsReleased ask(const cells::ReleaseHolds& request);
  cells::JobInserted ask(const cells::InsertJob& request);
  cells::JobRecorded ask(const cells::RecordJob& request);
  cells::KeyHolder ask(const cells::FindKeyHolder& request);
  cells::WaitingCancelled ask(const cells::CancelWaiting& request);
  cells::EndedReopened ask(const cells::ReopenEnded& request);
  cells::RunnableFetched ask(const cells::FetchRunnable& request);
  cells::DueAdvanced ask(const cells::AdvanceDue& request);
  cells::EndedPruned ask(const cells::PruneEnded& request);
  cells::BatchOpened ask(const cells::OpenBatch& request);
  cells::BatchClosed ask(const cells::CloseBatch& request);
  cells::CancelledMarked ask(const cells::MarkCancelled& request);
  cells::InMemoryNoted ask(const cells::NoteInMemory& request);
  cells::SchedulesLoaded ask(const cells::LoadSchedules& request);
  cells::ScheduleSaved ask(const cells::SaveSchedule& request);
  cells::ScheduleRemoved ask(const cells::RemoveSchedule& request);
  cells::ScheduleAdvanced ask(const cells::AdvanceSchedule& request);
  cells::CellOverrideSet ask(const cells::SetCellOverride& request);
  cells::StoreFlushed ask(const cells::FlushStore& request);
  cells::JobFound ask(const cells::FindJob& request);
  cells::JobsListed ask(const cells::ListJobs& request);
  cells::OldestQueued ask(const cells::FindOldestQueued& request);
  cells::BatchFound ask(const cells::FindBatch& request);
  cells::BatchesListed ask(const cells::ListBatches& request);

  void tell(const cells::InsertJob& message);
  void tell(const cells::ClaimJob& message);
  void tell(const cells::HoldJob& message);
  void tell(const cells::ChangeLane& message);

 private:
  StoreUnderTest& under_test_;
};

/// While it lives, sketch_job makes jobs of this kind.
class SketchedDurability {
 public:
  explicit SketchedDurability(cells::Durability durability);
  ~SketchedDurability();
  SketchedDurability(const SketchedDurability&) = delete;
  SketchedDurability& operator=(const SketchedDurability&) = delete;
};

/// Runs `body` on an empty store of each kind.
template <class Body>
void with_each_store(Body body) {
  for (const auto& [name, make] : store_kinds()) {
    INFO("store: " << name);
    const auto under_test = make();
    const SketchedDurability sketched{under_test->durability().value()};
    Client client{*under_test};
    body(client, *under_test);
  }
}

/// The same, for tests with batches, which no job in memory belongs to.
template <class Body>
void with_each_store_of_batches(Body body) {
  with_each_store([&](Client& client, StoreUnderTest& under_test) {
    if (under_test.durability() == cells::Durability::disk) body(client, under_test);
  });
}

// --- Jobs to test with -------------------------------------------------------------------------

inline cells::WallTime at_ms(std::int64_t ms) {
  return cells::WallTime{cells::milliseconds{ms}};
}

/// The parts of a job that tests vary. `id` is also the job's place, unless the job is scheduled.
struct JobSketch {
  cells::JobId id = 0;
  std::string entity = "e";
  std::string customer = "acme";
  std::string product = "dns";
  int priority = 5;
  cells::CellKey cell{"acme", "*"};
  std::optional<cells::WallTime> run_at{};  ///< If set, the job is scheduled.
  std::optional<cells::WallTime> expires_at{};
  std::map<std::string, std::string> labels{};
  std::vector<std::string> services{"dns"};
  std::string entity_type = "zone";
  std::string parameters = "{}";
  std::string lane{};
  cells::BatchId batch = 0;
};
cells::JobPtr sketch_job(const JobSketch& sketch);

/// The job with `change` applied.
template <class Change>
cells::JobPtr changed(const cells::JobPtr& job, Change change) {
  auto next = std::make_shared<cells::Job>(*job);
  change(*next);
  return next;
}

/// The job, running under the lease.
cells::JobPtr running(const cells::JobPtr& job, cells::Lease lease);
/// The job, ended: it has given up its place.
cells::JobPtr ended(const cells::JobPtr& job, cells::JobState state = cells::JobState::succeeded);
/// The job, failed while its last attempt may still be acting: it keeps its place until `until`.
cells::JobPtr settling(const cells::JobPtr& job, cells::WallTime until);
cells::JobPtr retrying(const cells::JobPtr& job, cells::WallTime next_attempt_at);

using Ids = std::vector<cells::JobId>;
Ids ids(const std::vector<cells::JobPtr>& jobs);

inline const cells::CellKey acme_cell{"acme", "*"};

/// The ids of the runnable jobs of a customer in a cell, best first.
Ids runnable_ids(Client& client, const cells::CellKey& cell = acme_cell,
                 const std::string& customer = "acme");

}  // namespace celld::store::test
