#include "src/store/memory_store.hpp"

#include <stdexcept>
#include <utility>

#include "src/store/group_commit.hpp"

namespace celld::store {

using namespace cells;  // NOLINT: the whole file is about the port's messages.

// --- What survives ---------------------------------------------------------------------------

MemoryDisk::MemoryDisk(StoreContent content, const ReadLimits& limits)
    : content_(std::move(content)), limits_(limits) {
  for (const auto& [id, stored] : content_.jobs) note_place(stored.job, true);
}

StoreContent MemoryDisk::snapshot() const {
  const std::lock_guard lock{mutex_};
  return content_;
}

void MemoryDisk::fill(StoreContent content) {
  const std::lock_guard lock{mutex_};
  content_ = std::move(content);
  for (const auto& [id, stored] : content_.jobs) note_place(stored.job, true);
}

void MemoryDisk::note_place(const JobPtr& job, bool stands) {
  if (!job || job->state != JobState::queued || job->place == 0) return;
  auto& places = queued_places_[job->cell];
  stands ? void(places.insert(job->place)) : void(places.erase(job->place));
  if (places.empty()) queued_places_.erase(job->cell);
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
  OldestQueued oldest;
  for (const auto& cell : request.cells) {
    const auto found = queued_places_.find(cell);
    const bool none = found == queued_places_.end() || found->second.empty();
    oldest.places.push_back(none ? 0 : *found->second.begin());
  }
  return oldest;
}

BatchFound MemoryDisk::read(const FindBatch& request) const {
  const std::lock_guard lock{mutex_};
  const auto found = content_.batches.find(request.id);
  return {found == content_.batches.end() ? std::nullopt : std::optional{found->second}};
}

BatchesListed MemoryDisk::read(const ListBatches& request) const {
  const std::lock_guard lock{mutex_};
  BatchesListed page;
  const auto& batches = content_.batches;
  auto end = request.before == 0 ? batches.end() : batches.lower_bound(request.before);
  while (end != batches.begin()) {
    const Batch& batch = (--end)->second;
    if (request.owner && *request.owner != batch.owner) continue;
    if (request.only_cancelled && !batch.is_cancelled) continue;
    if (page.batches.size() == request.limit) {
      page.next = page.batches.back().id;
      return page;
    }
    page.batches.push_back(batch);
  }
  return page;
}

NeedsCounted MemoryDisk::read(const CountNeeds& request) const {
  const std::lock_guard lock{mutex_};
  return count_needs(content_.jobs, request);
}

// --- The actors ------------------------------------------------------------------------------

namespace {

constexpr const char* failed_on_request = "the in-memory store failed on request";

NeedsCounter::behavior_type needs_counter(NeedsCounter::pointer self,
                                          const std::shared_ptr<const MemoryDisk>& disk,
                                          bool fails) {
  return {[self, disk, fails](const CountNeeds& request) -> caf::result<NeedsCounted> {
    self->quit();
    if (fails) return caf::make_error(caf::sec::runtime_error, failed_on_request);
    return disk->read(request);
  }};
}

class MemoryBackend {
 public:
  MemoryBackend(std::shared_ptr<MemoryDisk> disk, MemoryStoreOptions options)
      : disk_(std::move(disk)), options_(std::move(options)), jobs_(disk_->content()) {}

  template <class Request>
  auto apply(const Request& request) {
    if (is_asked(options_.fail_operation)) throw std::runtime_error(failed_on_request);
    return jobs_.apply(request);
  }
  bool changed() const { return jobs_.changed(); }
  std::size_t claims() const { return jobs_.claims(); }

  void commit(std::size_t) {
    const bool fails = is_asked(options_.fail_commit);
    if (!fails || is_asked(options_.failed_commit_lands)) disk_->commit(jobs_);
    if (fails) throw std::runtime_error(failed_on_request);
  }

  static void send(const std::function<void()>& answers) { answers(); }
  void begin(CommittingStore::pointer self) { self_ = self; }
  void remind(cells::microseconds delay) { self_->delayed_send(self_, delay, CommitClaims{}); }
  static bool forget() { return false; }
  void tidy() {}
  NeedsCounter counter(caf::actor_system& system) const {
    return system.spawn(needs_counter, std::shared_ptr<const MemoryDisk>{disk_},
                        is_asked(options_.fail_counting));
  }

  void failed(const std::string& reason) const {
    if (options_.on_fatal) options_.on_fatal(reason);
  }

 private:
  static bool is_asked(const std::function<bool()>& asked) { return asked && asked(); }

  CommittingStore::pointer self_ = nullptr;
  const std::shared_ptr<MemoryDisk> disk_;
  const MemoryStoreOptions options_;
  MemoryJobs jobs_;
};

JobReader::behavior_type memory_reader(JobReader::pointer,
                                       const std::shared_ptr<const MemoryDisk>& disk) {
  return {
      [disk](const FindJob& request) { return disk->read(request); },
      [disk](const ListJobs& request) { return disk->read(request); },
      [disk](const FindBatch& request) { return disk->read(request); },
      [disk](const ListBatches& request) { return disk->read(request); },
      [disk](const FindOldestQueued& request) { return disk->read(request); },
  };
}

}  // namespace

JobStore spawn_memory_store(caf::actor_system& system, std::shared_ptr<MemoryDisk> disk,
                            MemoryStoreOptions options) {
  const CommitOptions commits = options.commits;
  return system.spawn(group_commit<MemoryBackend>,
                      std::make_shared<MemoryBackend>(std::move(disk), std::move(options)),
                      commits);
}

JobReader spawn_memory_reader(caf::actor_system& system, std::shared_ptr<const MemoryDisk> disk) {
  return system.spawn(memory_reader, std::move(disk));
}

}  // namespace celld::store
