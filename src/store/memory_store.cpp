#include "src/store/memory_store.hpp"

#include <utility>

#include "src/store/answers.hpp"
#include "src/store/commit_batch.hpp"

namespace celld::store {

using namespace cells;  // NOLINT: the whole file is about the port's messages.

// --- What survives ---------------------------------------------------------------------------

void MemoryDisk::commit(MemoryJobs& working) {
  const std::lock_guard lock{mutex_};
  const auto note_place = [this](const JobPtr& job, bool stands) {
    if (!job || job->state != JobState::queued || job->place == 0) return;
    auto& places = queued_places_[job->cell];
    stands ? void(places.insert(job->place)) : void(places.erase(job->place));
  };
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
  constexpr std::size_t scanned_max = 10'000;
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
    if (scanned >= scanned_max) {
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

// --- The actors ------------------------------------------------------------------------------

namespace {

struct StoreState {
  std::shared_ptr<MemoryDisk> disk;
  MemoryStoreOptions options;
  MemoryJobs jobs;
  Answers answers;
  std::uint64_t batch = 1;
  bool armed = false;
  std::optional<caf::error> failure;
};

using Store = CommittingStore::stateful_pointer<StoreState>;

/// Schedules a commit, after which the answers are sent. With no change in the batch so far,
/// answers at once.
void finish_operation(Store self) {
  auto& state = self->state;
  if (state.armed) return;
  if (!state.jobs.changed()) {
    state.answers.deliver_all();
    return;
  }
  state.armed = true;
  const auto& asked = state.options.commit_delay;
  const auto delay = asked ? asked() : microseconds{0};
  if (delay > microseconds{0}) {
    self->delayed_send(self, delay, CommitBatch{state.batch});
  } else {
    self->send(self, CommitBatch{state.batch});
  }
}

void commit(Store self) {
  auto& state = self->state;
  state.armed = false;
  ++state.batch;
  if (state.options.fail_commit && state.options.fail_commit()) {
    const std::string text = "the in-memory store failed on request";
    state.failure = cannot_commit(text);
    if (state.options.failed_commit_lands && state.options.failed_commit_lands()) {
      state.disk->commit(state.jobs);
    }
    state.answers.fail_all(*state.failure);
    if (state.options.on_fatal) state.options.on_fatal(text);
    return;
  }
  state.disk->commit(state.jobs);
  state.answers.deliver_all();
}

template <class Answer, class Request>
caf::typed_response_promise<Answer> perform(Store self, const Request& request) {
  auto promise = self->template make_response_promise<Answer>();
  auto& state = self->state;
  if (state.failure) {
    promise.deliver(*state.failure);
    return promise;
  }
  state.answers.add(promise, state.jobs.apply(request));
  finish_operation(self);
  return promise;
}

caf::typed_response_promise<JobInserted> insert(Store self, const InsertJob& request) {
  auto promise = self->make_response_promise<JobInserted>();
  auto& state = self->state;
  if (state.failure) {
    promise.deliver(*state.failure);
  } else if (auto inserted = state.jobs.apply(request)) {
    state.answers.add(promise, *inserted);
    finish_operation(self);
  } else {
    promise.deliver(caf::make_error(caf::sec::invalid_argument, "the job id is in use"));
  }
  return promise;
}

template <class Request>
void note(Store self, const Request& request) {
  if (self->state.failure) return;
  self->state.jobs.apply(request);
  finish_operation(self);
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
      [self](const CountNeeds& request) { return perform<NeedsCounted>(self, request); },
      [self](const ReleaseHolds& request) { note(self, request); },
      [self](const LoadCell& request) { return perform<CellLoaded>(self, request); },
      [self](const InsertJob& request) { return insert(self, request); },
      [self](const FindKeyHolder& request) { return perform<KeyHolder>(self, request); },
      [self](const ClaimJob& request) { note(self, request); },
      [self](const RecordJob& request) { return perform<JobRecorded>(self, request); },
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
