// Batches, as their senders see them: what a report says must be true, and a line makes one job,
// however often it is sent.
#include <algorithm>

#include "tests/torture/simulation/world.hpp"

namespace simulation {

/// A line may be refused because one ahead of it in its batch found no room: it shares the reasons
/// of all of them.
void World::line_answered(std::uint64_t number, const JobSubmitted& answer, bool is_closed) {
  const PendingRequest request = finish_request(number);
  PendingRequest& batch = batch_requests_[request.batch];
  add_reasons(batch, request);
  for (auto& [other_number, other] : pending_) {
    if (other.batch == request.batch) add_reasons(batch, other);
  }
  if (answer.returned) {  // The desk submits it again.
    note_turned_away();
    if (answer.refusal) judge_refusal(batch, *answer.refusal);
    return;
  }
  if (answer.job || answer.refusal) return submission_decided(request, batch, answer);
  note("turned away");
  note_turned_away();
  if (!is_closed) violated(Check::refusal, "a line is refused without a word");
}

/// `batch` has the requests of one batch.
void World::add_reasons(PendingRequest& batch, const PendingRequest& line) {
  batch.asked = batch.spec ? std::min(batch.asked, line.asked) : line.asked;
  batch.spec = line.spec;
  batch.possible |= line.possible;
  batch.cells.insert(line.cells.begin(), line.cells.end());
  batch.jobs_limits.insert(line.jobs_limits.begin(), line.jobs_limits.end());
  batch.limits_change |= line.limits_change;
}

/// The job of a line is committed for the first time.
void World::line_stored(const Job& job) {
  auto& made = line_jobs_[job.spec->parameters];
  for (const JobId other : made) {
    if (!disk->jobs().contains(other)) continue;
    violated(Check::line_once,
             "a line makes " + format_job_id(other) + " and " + format_job_id(job.id));
  }
  made.insert(job.id);
}

/// The jobs that this line has made and that retention has not removed without notice.
bool World::is_made(const std::string& line) const {
  const auto made = line_jobs_.find(line);
  return made != line_jobs_.end() &&
         std::any_of(made->second.begin(), made->second.end(), [this](JobId id) {
           return disk->jobs().contains(id) || pruned_jobs.contains(id);
         });
}

bool World::is_in_batch(const std::string& line, BatchId batch) const {
  const auto made = line_jobs_.find(line);
  return made != line_jobs_.end() &&
         std::any_of(made->second.begin(), made->second.end(), [&](JobId id) {
           const auto stored = disk->jobs().find(id);
           return stored != disk->jobs().end() && stored->second.job->batch == batch;
         });
}

/// Lines before the end that are not rejected are acknowledged; no other line is accepted.
void World::batch_answered(const BatchReport& report) {
  const std::string name = "batch " + format_job_id(report.id);
  const std::size_t end = report.stopped_at.value_or(report.lines.size() + 1);
  const bool killed = lost_dispatcher_of(batch_requests_[report.id], report.asked);
  const bool is_certain = !killed && !dying_;
  std::uint64_t acknowledged = 0;
  for (std::size_t i = 1; i <= report.lines.size(); ++i) {
    const std::string& line = report.lines[i - 1];
    const std::string where = name + ", line " + std::to_string(i);
    if (i < end && !report.rejected.contains(i)) {
      ++acknowledged;
      if (!is_made(line)) {
        violated(Check::line_stored, where + " is acknowledged, but has no job on disk");
      }
    } else if (is_certain && is_in_batch(line, report.id)) {
      violated(Check::batch_end, where + " is accepted although the report says otherwise");
    }
  }
  if (acknowledged != report.accepted + report.replayed ||
      report.rejected_count != report.rejected.size()) {
    violated(Check::batch_end, name + " counts other lines than it lists");
  }
  check_batch_row(report, is_certain);
}

/// The row of a batch counts what was accepted. The store removes it with the last job.
void World::check_batch_row(const BatchReport& report, bool is_certain) {
  const std::string name = "batch " + format_job_id(report.id);
  const auto& batches = disk->content().batches;
  const auto row = batches.find(report.id);
  if (row == batches.end()) {
    const auto& lines = report.lines;
    if (std::any_of(lines.begin(), lines.end(),
                    [&](const auto& line) { return is_in_batch(line, report.id); })) {
      violated(Check::batch_counts, name + " has jobs and is not on disk");
    }
    return;
  }
  const auto total = total_of(row->second);
  // A store that fails may leave the batch open until the next start.
  const bool is_exact = total == report.accepted && !row->second.is_open;
  if (total < report.accepted || (is_certain && !is_exact)) {
    violated(Check::batch_counts, name + " has accepted " + std::to_string(report.accepted) +
                                      " jobs and counts " + std::to_string(total));
  }
}

/// Called when every job has ended.
void World::check_batches() {
  std::map<BatchId, JobCounts> jobs;
  for (const auto& [id, stored] : disk->jobs()) {
    if (stored.job->batch != 0) jobs[stored.job->batch][stored.job->state] += 1;
  }
  for (const auto& [id, batch] : disk->content().batches) {
    const auto& there = jobs[id].by_state;
    const auto& counted = batch.counts.by_state;
    const bool has_all = std::equal(there.begin(), there.end(), counted.begin(),
                                    [](auto stored, auto count) { return stored <= count; });
    if (!has_all || batch.counts.unfinished() != 0) {
      violated(Check::batch_counts,
               "batch " + format_job_id(id) + " counts other jobs than it has");
    }
  }
}

}  // namespace simulation
