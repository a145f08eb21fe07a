#include "cells/model/batch.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cells {
namespace {

void note_end(Batch& batch, WallTime at) {
  batch.last_end = std::max(batch.last_end.value_or(at), at);
}

}  // namespace

std::uint64_t total_of(const Batch& batch) {
  const auto& counts = batch.counts.by_state;
  return std::accumulate(counts.begin(), counts.end(), batch.forgotten);
}

double progress_of(const Batch& batch) {
  const auto total = total_of(batch);
  if (finished_at(batch)) return 1;
  if (total == 0) return 0;
  constexpr double unfinished_max = 0.9999;
  const auto ended = static_cast<double>(total - batch.counts.unfinished());
  return std::min(ended / static_cast<double>(total), unfinished_max);
}

std::optional<WallTime> finished_at(const Batch& batch) {
  return batch.is_open || batch.counts.unfinished() != 0 ? std::nullopt : batch.last_end;
}

bool is_deserted(const Batch& batch) {
  return !batch.is_open && batch.stored == 0;
}

void add_job(Batch& batch, const Job& job) {
  ++batch.counts[job.state];
  ++batch.stored;
}

void change_job(Batch& batch, JobState before, JobState after, std::optional<WallTime> ended_at) {
  --batch.counts[before];
  ++batch.counts[after];
  if (is_ended(after) && ended_at) note_end(batch, *ended_at);
}

void remove_job(Batch& batch) {
  --batch.stored;
}

void close(Batch& batch, WallTime now) {
  batch.is_open = false;
  note_end(batch, now);
}

void count_in_memory(Batch& batch, const BatchInMemory& jobs) {
  batch.counts += jobs.counts;
  batch.counts -= batch.in_memory.counts;
  batch.stored += jobs.stored;
  batch.stored -= batch.in_memory.stored;
  batch.in_memory = jobs;
  if (jobs.last_end) note_end(batch, *jobs.last_end);
}

void forget_memory(Batch& batch, const BatchInMemory& kept, WallTime now) {
  const BatchInMemory former = std::exchange(batch.in_memory, {});
  batch.stored -= former.stored;
  auto resumed = kept.counts.unfinished();  // Of those that were unfinished.
  for (std::size_t i = 0; i < job_state_count; ++i) {
    const auto state = static_cast<JobState>(i);
    const auto counted = former.counts[state];
    // A kept job that has ended still holds its entity.
    const auto leaving = is_ended(state) ? std::min(counted, kept.counts[state]) : counted;
    batch.counts[state] -= leaving;
    if (is_ended(state)) resumed += kept.counts[state] - leaving;
  }
  const auto unfinished = former.counts.unfinished();
  const auto lost = unfinished - std::min(unfinished, resumed);
  batch.forgotten += lost;
  if (lost > 0) note_end(batch, now);
  count_in_memory(batch, kept);
}

}  // namespace cells
