#include "cells/model/batch.hpp"

#include <algorithm>
#include <numeric>

namespace cells {
namespace {

void note_end(Batch& batch, WallTime at) {
  batch.last_end = std::max(batch.last_end.value_or(at), at);
}

}  // namespace

std::uint64_t total_of(const Batch& batch) {
  const auto& counts = batch.counts.by_state;
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
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

}  // namespace cells
