#include "src/store/memory_store.hpp"

#include <utility>

#include "src/store/answers.hpp"
#include "src/store/commit_batch.hpp"

namespace celld::store {

using namespace cells;  // NOLINT: the whole file is about the port's messages.

// --- What survives ---------------------------------------------------------------------------

MemoryDisk::MemoryDisk(StoreContent content, const ReadLimits& limits)
    : content_(std::move(content)), limits_(limits) {
  for (const auto& [id, stored] : content_.jobs) note_place(stored.job, true);
}

void MemoryDisk::note_place(const JobPtr& job, bool stands) {
  if (!job || job->state != JobState::queued || job->place == 0) return;
  auto& places = queued_places_[job->cell];
  stands ? void(places.insert(job->place)) : void(places.erase(job->place));
}

void MemoryDisk::commit(MemoryJobs& working) {
  const std::lock_guard lock{mutex_};
  for (const auto& [before, after] : working.commit_to(content_)) {
    note_place(before, false);
    note_place(after.job, true);
    if (!after.job) {
      if (on_prune) on_prune(*before);
    } else if (on_commit && before != after.job) {
      on_commit(before, *after.job);
    }
  }
  ++commits_;
}

JobFound MemoryDisk::read(const FindJob& request) const {
  const std::lock_guard lock{mutex_};
  const auto found = content_.jobs.find(request.id);
  return {found == content_.jobs.end() ? nullptr : found->second.job};
}

JobsListed MemoryDisk::read(const ListJobs& request) const {
  const std::lock_guard lock{mutex_};
  JobsListed page;
  const auto range = id_range(request);
  if (range.empty()) return page;
  std::size_t bytes = 0;
  std::size_t scanned = 0;
  auto next = content_.jobs.lower_bound(range.end);
  while (next != content_.jobs.begin()) {
    const auto& [id, stored] = *std::prev(next);
    if (id < range.first) break;
    if (scanned >= limits_.rows_max) {
      page.next = next->first;
      return page;
    }
    --next;
    ++scanned;
    if (!matches(request.filter, *stored.job)) continue;
    if (page.jobs.size() >= request.limit || bytes > request.bytes_max) {
      page.next = id + 1;
      page.full = true;
      return page;
    }
    bytes += approximate_bytes(*stored.job);
    page.jobs.push_back(stored.job);
  }
  return page;
}

OldestQueued MemoryDisk::read(const FindOldestQueued& request) const {
  const std::lock_guard lock{mutex_};
  const auto found = queued_places_.find(request.cell);
  if (found == queued_places_.end() || found->second.empty()) return {};
  return {*found->second.begin()};
}

NeedsCounted MemoryDisk::read(const CountNeeds& request) const {
  const std::lock_guard lock{mutex_};
  return count_needs(content_.jobs, request);
}

// --- The actors ------------------------------------------------------------------------------

namespace {

struct StoreState {
  std::shared_ptr<MemoryDisk> disk;
  MemoryStoreOptions options;
  MemoryJobs jobs;
  Answers answers;
  std::uint64_t batch = 1;
  std::size_t operations = 0;
  std::size_t bytes = 0;
  bool armed = false;         ///< A CommitBatch of this batch is on its way.
  bool claims_armed = false;  ///< A CommitClaims is on its way.
  std::optional<caf::error> failure;
};

using Store = CommittingStore::stateful_pointer<StoreState>;

/// Fails this request and every later one.
void fail(Store self) {
  auto& state = self->state;
  const std::string text = "the in-memory store failed on request";
  state.failure = cannot_commit(text);
  state.answers.fail_all(*state.failure);
  if (state.options.on_fatal) state.options.on_fatal(text);
}

bool is_asked_to_fail(const std::function<bool()>& asked) {
  return asked && asked();
}

bool has_changes(const StoreState& state) {
  return state.jobs.changed() || state.jobs.claims() != 0;
}

void commit(Store self) {
  auto& state = self->state;
  state.armed = false;
  ++state.batch;
  state.operations = 0;
  state.bytes = 0;
  if (has_changes(state)) {
    const bool fails = is_asked_to_fail(state.options.fail_commit);
    if (!fails || is_asked_to_fail(state.options.failed_commit_lands)) {
      state.disk->commit(state.jobs);
    }
    if (fails) return fail(self);
  }
  state.answers.deliver_all();
}

void arm_commit(Store self) {
  auto& state = self->state;
  if (std::exchange(state.armed, true)) return;
  const auto& asked = state.options.commit_delay;
  const auto delay = asked ? asked() : microseconds{0};
  if (delay > microseconds{0}) {
    self->delayed_send(self, delay, CommitBatch{state.batch});
  } else {
    self->send(self, CommitBatch{state.batch});
  }
}

void arm_claims(Store self) {
  if (std::exchange(self->state.claims_armed, true)) return;
  self->delayed_send(self, self->state.options.claim_delay, CommitClaims{});
}

/// Commits a full batch, schedules a commit for other changes, and answers at once if there are
/// none.
void finish_operation(Store self, std::size_t bytes) {
  auto& state = self->state;
  const auto& options = state.options;
  ++state.operations;
  state.bytes += bytes;
  const bool claims_wait = options.claim_delay > microseconds{0};
  if (state.operations >= options.batch_operations_max || state.bytes >= options.batch_bytes_max) {
    commit(self);
  } else if (state.jobs.changed() || (has_changes(state) && !claims_wait)) {
    arm_commit(self);
  } else {
    state.answers.deliver_all();
    if (has_changes(state)) return arm_claims(self);
    state.operations = 0;  // Only reads so far: they belong to no commit.
    state.bytes = 0;
  }
}

/// Whether an operation may begin. False: this one or an earlier one failed.
bool begin_operation(Store self) {
  auto& state = self->state;
  if (!state.failure && is_asked_to_fail(state.options.fail_operation)) fail(self);
  return !state.failure;
}

template <class Answer, class Request>
caf::typed_response_promise<Answer> perform(Store self, const Request& request,
                                            std::size_t bytes = 0) {
  auto promise = self->template make_response_promise<Answer>();
  auto& state = self->state;
  if (!begin_operation(self)) {
    promise.deliver(*state.failure);
  } else if (std::optional<Answer> answer = state.jobs.apply(request)) {
    state.answers.add(promise, std::move(*answer));
    finish_operation(self, bytes);
  } else {
    promise.deliver(caf::make_error(caf::sec::invalid_argument, "the job id is in use"));
  }
  return promise;
}

template <class Request>
void note(Store self, const Request& request, std::size_t bytes = 0) {
  if (!begin_operation(self)) return;
  self->state.jobs.apply(request);
  finish_operation(self, bytes);
}

NeedsCounter::behavior_type needs_counter(NeedsCounter::pointer self,
                                          const std::shared_ptr<const MemoryDisk>& disk) {
  return {[self, disk](const CountNeeds& request) {
    self->quit();
    return disk->read(request);
  }};
}

/// Commits first, so that the counter sees all writes so far.
caf::result<NeedsCounted> start_counter(Store self, const CountNeeds& request) {
  auto& state = self->state;
  if (begin_operation(self)) commit(self);
  if (state.failure) return *state.failure;
  return self->delegate(self->system().spawn(needs_counter, state.disk), request);
}

CommittingStore::behavior_type memory_store(Store self, std::shared_ptr<MemoryDisk> disk,
                                            MemoryStoreOptions options) {
  self->state.jobs = MemoryJobs{disk->content()};
  self->state.disk = std::move(disk);
  self->state.options = std::move(options);
  return {
      [self](const StartEpoch& request) { return perform<EpochStarted>(self, request); },
      [self](const LoadCells& request) { return perform<CellsLoaded>(self, request); },
      [self](const ListBacklogs& request) { return perform<BacklogsListed>(self, request); },
      [self](const MoveJobs& request) { return perform<JobsMoved>(self, request); },
      [self](const CountNeeds& request) { return start_counter(self, request); },
      [self](const ReleaseHolds& request) { note(self, request); },
      [self](const LoadCell& request) { return perform<CellLoaded>(self, request); },
      [self](const InsertJob& request) {
        return perform<JobInserted>(self, request, approximate_bytes(*request.job));
      },
      [self](const FindKeyHolder& request) { return perform<KeyHolder>(self, request); },
      [self](const ClaimJob& request) { note(self, request, approximate_bytes(*request.job)); },
      [self](const RecordJob& request) {
        return perform<JobRecorded>(self, request, approximate_bytes(*request.job));
      },
      [self](const CancelWaiting& request) { return perform<WaitingCancelled>(self, request); },
      [self](const ReopenEnded& request) { return perform<EndedReopened>(self, request); },
      [self](const HoldJob& request) { note(self, request); },
      [self](const FetchRunnable& request) { return perform<RunnableFetched>(self, request); },
      [self](const AdvanceDue& request) { return perform<DueAdvanced>(self, request); },
      [self](const PruneEnded& request) { return perform<EndedPruned>(self, request); },
      [self](const SetCellOverride& request) { return perform<CellOverrideSet>(self, request); },
      [self](const FlushStore& request) { return perform<StoreFlushed>(self, request); },
      [self](CommitBatch due) {
        if (due.batch == self->state.batch && self->state.armed) commit(self);
      },
      [self](CommitClaims) {
        self->state.claims_armed = false;
        if (!self->state.failure && has_changes(self->state)) commit(self);
      },
  };
}

JobReader::behavior_type memory_reader(JobReader::pointer,
                                       const std::shared_ptr<const MemoryDisk>& disk) {
  return {
      [disk](const FindJob& request) { return disk->read(request); },
      [disk](const ListJobs& request) { return disk->read(request); },
      [disk](const FindOldestQueued& request) { return disk->read(request); },
  };
}

}  // namespace

JobStore spawn_memory_store(caf::actor_system& system, std::shared_ptr<MemoryDisk> disk,
                            MemoryStoreOptions options) {
  return system.spawn(memory_store, std::move(disk), std::move(options));
}

JobReader spawn_memory_reader(caf::actor_system& system, std::shared_ptr<const MemoryDisk> disk) {
  return system.spawn(memory_reader, std::move(disk));
}

}  // namespace celld::store
