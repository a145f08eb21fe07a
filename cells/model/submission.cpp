#include "cells/model/submission.hpp"

#include <algorithm>
#include <utility>

namespace cells {

bool is_temporary(Refusal::Kind kind) {
  using enum Refusal::Kind;
  return kind == queue_full || kind == cell_bytes_full || kind == memory_full ||
         kind == customer_jobs_full || kind == customer_bytes_full || kind == too_many_cells ||
         kind == shutting_down || kind == draining;
}

bool is_too_fast(Refusal::Kind kind) {
  return kind == Refusal::Kind::queue_rate || kind == Refusal::Kind::customer_rate;
}

void BatchGate::close_until_known(const Refusal& refusal) {
  const std::lock_guard lock{mutex_};
  if (++waiting_ == 1) refusal_ = refusal;
}

void BatchGate::open_again() {
  const std::lock_guard lock{mutex_};
  waiting_ -= 1;
}

std::optional<Refusal> BatchGate::closed_until_known() const {
  const std::lock_guard lock{mutex_};
  return waiting_ > 0 ? std::optional{refusal_} : std::nullopt;
}

void close_gate(const std::shared_ptr<BatchGate>& gate, bool has_key, const Refusal& refusal) {
  if (!gate || !is_temporary(refusal.kind)) return;
  has_key ? gate->close_until_known(refusal) : gate->close();
}

Job accept_job(JobRequest request, const CellKey& cell, const CellSettings& settings, JobId id,
               WallTime now, bool others_first) {
  JobSpec spec = std::move(request.spec);
  if (spec.timeout == milliseconds{0}) spec.timeout = settings.timeout;
  if (spec.max_attempts == 0) spec.max_attempts = settings.retry.max_attempts;

  Job job;
  job.id = id;
  job.cell = cell;
  job.steps.resize(spec.services.size());
  job.spec = std::make_shared<const JobSpec>(std::move(spec));
  job.created_at = now;
  job.run_at = request.run_at.value_or(now + request.delay.value_or(milliseconds{0}));
  job.expires_at = request.expires_at;
  job.batch = request.batch;
  job.durability = settings.durability;
  if (others_first) job.run_at = std::max(job.run_at, now);
  const bool due = job.run_at <= now && !others_first;
  job.state = due ? JobState::queued : JobState::scheduled;
  job.place = due ? id : 0;
  return job;
}

}  // namespace cells
