#include "src/store/job_rules.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace celld::store {

using cells::Job;
using cells::JobId;
using cells::JobState;
using cells::WallTime;

std::uint64_t next_epoch(std::uint64_t last, WallTime now) {
  const auto since_1970 = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  return std::max(last + 1,
                  static_cast<std::uint64_t>(std::max<std::int64_t>(since_1970.count(), 0)));
}

bool is_runnable(JobState state, const LineMarks& marks) {
  if (!marks.head || marks.held) return false;
  return state == JobState::queued || (awaits_attempt(state) && marks.woken);
}

bool awaits_attempt(JobState state) {
  return state == JobState::retrying || state == JobState::compensating;
}

bool starts_woken(const Job& job) {
  return job.state == JobState::compensating && !job.next_attempt_at;
}

bool is_settling(const Job& job) {
  return is_ended(job.state) && job.place != 0;
}

bool is_open(const Job& job) {
  return !is_ended(job.state) || job.place != 0;
}

namespace {

bool is_waiting(JobState state) {
  return state == JobState::scheduled || state == JobState::queued || state == JobState::retrying;
}

}  // namespace

bool is_waiting_in(const Job& job, const cells::CellKey& cell) {
  return is_waiting(job.state) && job.cell == cell;
}

bool is_expired(const Job& job, WallTime now) {
  return is_waiting(job.state) && job.expires_at && *job.expires_at <= now;
}

std::optional<std::int64_t> turn_of(const Job& job, const LineMarks& marks, std::int64_t lane) {
  if (!is_open(job)) return std::nullopt;
  if (is_runnable(job.state, marks)) {
    return lane * turns_per_lane + turns_runnable - job.spec->priority;
  }
  return turns_runnable + static_cast<std::int64_t>(job.state);
}

std::optional<WallTime> due_at(const Job& job, const LineMarks& marks) {
  std::optional<WallTime> due;
  const auto consider = [&due](const std::optional<WallTime>& at) {
    if (at && (!due || *at < *due)) due = at;
  };
  if (job.state == JobState::scheduled) consider(job.run_at);
  if (awaits_attempt(job.state) && !marks.woken) consider(job.next_attempt_at);
  if (is_settling(job)) consider(job.settle_until);
  if (is_waiting(job.state)) consider(job.expires_at);
  return due;
}

cells::JobPtr merge_version(const Job& stored, cells::JobPtr next) {
  JobId place = stored.place != 0 ? stored.place : next->place;
  if (is_ended(next->state) && !next->settle_until) place = 0;
  if (next->place == place && next->cell == stored.cell &&
      next->failed_ahead == stored.failed_ahead) {
    return next;
  }
  auto merged = std::make_shared<Job>(*next);
  merged->place = place;
  merged->cell = stored.cell;
  merged->failed_ahead = stored.failed_ahead;
  return merged;
}

cells::JobPtr with_place_given_up(Job job) {
  if (is_ended(job.state) && !job.settle_until) job.place = 0;
  return std::make_shared<const Job>(std::move(job));
}

JobId failed_up_to(const Job& ended, JobId last_id) {
  return ended.state == JobState::failed ? last_id : ended.failed_ahead;
}

bool is_follower(const Job& job, JobId failed_ahead) {
  return !is_ended(job.state) && job.place <= failed_ahead && job.failed_ahead < failed_ahead;
}

bool matches(const cells::JobFilter& filter, const Job& job) {
  const auto& spec = *job.spec;
  const auto is = [](const std::optional<std::string>& wanted, const std::string& value) {
    return !wanted || *wanted == value;
  };
  if (filter.state && *filter.state != shown_state(job)) return false;
  if (filter.unfinished && is_ended(job.state)) return false;
  if (filter.batch && *filter.batch != job.batch) return false;
  if (filter.created_after && job.created_at <= *filter.created_after) return false;
  if (filter.created_before && job.created_at >= *filter.created_before) return false;
  if (!is(filter.customer, spec.customer) || !is(filter.product, spec.product) ||
      !is(filter.entity_type, spec.entity.type) || !is(filter.entity_id, spec.entity.id)) {
    return false;
  }
  if (filter.service && std::find(spec.services.begin(), spec.services.end(), *filter.service) ==
                            spec.services.end()) {
    return false;
  }
  return std::all_of(filter.labels.begin(), filter.labels.end(), [&spec](const auto& label) {
    const auto found = spec.labels.find(label.first);
    return found != spec.labels.end() && found->second == label.second;
  });
}

IdRange id_range(const cells::ListJobs& request) {
  IdRange range{1, static_cast<JobId>(std::numeric_limits<std::int64_t>::max())};
  const auto& filter = request.filter;
  if (filter.created_after) {
    range.first = cells::first_job_id_at(*filter.created_after + cells::milliseconds{1});
  }
  if (filter.created_before) {
    range.end = std::min(range.end, cells::first_job_id_at(*filter.created_before));
  }
  if (request.before != 0) range.end = std::min(range.end, request.before);
  return range;
}

}  // namespace celld::store
