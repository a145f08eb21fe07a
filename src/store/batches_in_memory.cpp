#include "src/store/batches_in_memory.hpp"

#include <algorithm>

namespace celld::store {

using cells::BatchId;
using cells::BatchInMemory;
using cells::Job;

namespace {

void note_end(BatchInMemory& jobs, const Job& job) {
  if (!is_ended(job.state) || !job.finished_at) return;
  jobs.last_end = std::max(jobs.last_end.value_or(*job.finished_at), *job.finished_at);
}

}  // namespace

/// A removed job stays counted in the state in which it ended.
void BatchesInMemory::changed(const Job* before, const Job* after) {
  const BatchId id = after != nullptr ? after->batch : before->batch;
  const bool is_same = before != nullptr && after != nullptr && before->state == after->state;
  if (id == 0 || is_same) return;
  const std::lock_guard lock{mutex_};
  const auto [found, added] = entries_.try_emplace(id);
  Entry& entry = found->second;
  auto& [counts, stored, last_end] = entry.jobs;
  const bool was_finished = counts.unfinished() == 0;
  if (before == nullptr) stored += 1;
  if (after == nullptr) {
    stored -= 1;
  } else {
    if (before != nullptr) counts[before->state] -= 1;
    counts[after->state] += 1;
    note_end(entry.jobs, *after);
  }
  entry.changes += 1;
  const bool has_finished = !was_finished && counts.unfinished() == 0;
  const bool is_over = !entry.is_open && (stored == 0 || has_finished);
  if (added || is_over || entry.changes >= changes_max_) make_due(id, entry);
}

bool BatchesInMemory::close(BatchId id) {
  const std::lock_guard lock{mutex_};
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  found->second.is_open = false;
  make_due(id, found->second);
  return true;
}

std::optional<BatchInMemory> BatchesInMemory::find(BatchId id) const {
  const std::lock_guard lock{mutex_};
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::nullopt : std::optional{found->second.jobs};
}

std::map<BatchId, BatchInMemory> BatchesInMemory::all() const {
  const std::lock_guard lock{mutex_};
  std::map<BatchId, BatchInMemory> batches;
  for (const auto& [id, entry] : entries_) batches.emplace(id, entry.jobs);
  return batches;
}

void BatchesInMemory::make_due(BatchId id, Entry& entry) {
  if (!std::exchange(entry.is_due, true)) due_.push_back(id);
}

BatchesInMemory::Noted BatchesInMemory::take(BatchId id, Entry& entry) {
  entry.changes = 0;
  entry.is_due = false;
  return {id, entry.jobs};
}

std::vector<BatchesInMemory::Noted> BatchesInMemory::take_due() {
  std::vector<Noted> taken;
  if (due_.empty()) return taken;
  const std::lock_guard lock{mutex_};
  for (const auto id : std::exchange(due_, {})) {
    const auto found = entries_.find(id);
    if (found != entries_.end()) taken.push_back(take(id, found->second));
  }
  return taken;
}

std::vector<BatchesInMemory::Noted> BatchesInMemory::take_unnoted() {
  const std::lock_guard lock{mutex_};
  due_.clear();
  std::vector<Noted> taken;
  for (auto& [id, entry] : entries_) {
    if (entry.changes > 0 || entry.is_due) taken.push_back(take(id, entry));
  }
  return taken;
}

void BatchesInMemory::noted(const Noted& on_disk) {
  const std::lock_guard lock{mutex_};
  const auto& [id, jobs] = on_disk;
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.is_open) return;
  if (jobs.stored == 0 && found->second.jobs == jobs) entries_.erase(found);
}

}  // namespace celld::store
