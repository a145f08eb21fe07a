// AdvanceDue in SqliteJobs: what happens to jobs as time passes.
#include <algorithm>
#include <memory>

#include "src/store/sqlite_jobs.hpp"

namespace celld::store {

using namespace cells;  // NOLINT: the whole file is about the port's messages.

DueAdvanced SqliteJobs::apply(const AdvanceDue& request) {
  enter();
  DueAdvanced done;
  const auto cell = backlogs_.find_cell_id(request.cell);
  if (!cell) return done;
  for (const auto id : due_jobs(*cell, request.now, request.limit)) {
    advance_one(load(id), request, done);
  }
  done.next_due = next_due(*cell, done.expired);
  return done;
}

std::vector<JobId> SqliteJobs::due_jobs(std::int64_t cell, WallTime now, std::size_t limit) {
  std::vector<JobId> due;
  const ResetAtEnd reset{select_due_};
  select_due_.bind(1, cell);
  while (due.size() < limit && select_due_.step()) {
    if (select_due_.integer(1) > now.time_since_epoch().count()) break;
    // The row of a claimed job is outdated: the job runs, so nothing is due for it.
    const auto id = to_id(select_due_.integer(0));
    if (!claims_.contains(id)) due.push_back(id);
  }
  return due;
}

std::optional<WallTime> SqliteJobs::next_due(std::int64_t cell,
                                             const std::vector<JobPtr>& excluded) {
  std::vector<JobId> excluded_ids;
  excluded_ids.reserve(excluded.size());
  for (const auto& job : excluded) excluded_ids.push_back(job->id);
  std::sort(excluded_ids.begin(), excluded_ids.end());
  const ResetAtEnd reset{select_due_};
  select_due_.bind(1, cell);
  while (select_due_.step()) {
    const auto id = to_id(select_due_.integer(0));
    if (claims_.contains(id)) continue;
    if (std::binary_search(excluded_ids.begin(), excluded_ids.end(), id)) continue;
    return WallTime{milliseconds{select_due_.integer(1)}};
  }
  return std::nullopt;
}

/// Advances one due job, in one of the four ways that AdvanceDue describes.
void SqliteJobs::advance_one(const JobRow& row, const AdvanceDue& request, DueAdvanced& done) {
  const auto report = [&](const JobPtr& job) {
    (job->cell == request.cell ? done.runnable : done.promoted_elsewhere).push_back(job);
  };
  const Job& job = *row.job;
  const auto before = standing(job, row.marks, row.cell, row.routing_key, row.lane);
  if (is_expired(job, request.now)) {
    done.expired.push_back(row.job);
    return;
  }
  touch();
  if (is_ended(job.state)) {
    auto settled = std::make_shared<Job>(job);
    settled->place = 0;
    if (const auto promoted = replace(before, settled, row.marks)) report(promoted);
  } else if (awaits_attempt(job.state)) {
    auto marks = row.marks;
    marks.woken = true;
    set_marks(job.id, before, marks, row.lane);
    const auto due = due_at(job, marks);
    update_due_.bind(1, to_integer(job.id));
    due ? update_due_.bind(2, std::int64_t{due->time_since_epoch().count()})
        : update_due_.bind_null(2);
    update_due_.run();
    if (is_runnable(job.state, marks)) report(row.job);
  } else {
    auto queued = std::make_shared<Job>(job);
    queued->state = JobState::queued;
    if (queued->place == 0) queued->place = request.first_place + done.queued;
    ++done.queued;
    note_place(queued->place);
    replace(before, queued, row.marks);
    if (is_runnable(queued->state, standing_of(job.id)->marks)) report(queued);
  }
}

}  // namespace celld::store
