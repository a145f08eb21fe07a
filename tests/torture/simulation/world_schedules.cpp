// Schedules: each due time is passed once, and what is stored accounts for every one of them.
#include "tests/torture/simulation/world.hpp"

namespace simulation {
namespace {

/// For commits, for a reading of the wall clock, and for a rest after an error.
constexpr milliseconds pass_allowance{10'000};

/// The name of the schedule that submits such jobs; empty: none does.
std::string schedule_of(const JobSpec& spec) {
  constexpr std::string_view prefix = "{\"schedule\":\"";
  const std::string_view text = spec.parameters;
  if (!text.starts_with(prefix)) return "";
  return std::string{text.substr(prefix.size(), text.size() - prefix.size() - 2)};
}

std::uint64_t times_of(const ScheduleProgress& progress) {
  return progress.fired + progress.skipped + progress.missed;
}

}  // namespace

void World::firing_answered(std::uint64_t number, const std::string& schedule,
                            const JobSubmitted& answer) {
  if (answer.refusal) note_refused_firing(schedule, pending_.at(number));
  if (answer.job || answer.refusal) return submission_answered(number, answer);
  finish_request(number);
  note("passed before");
}

void World::firing_failed(std::uint64_t number, const std::string& schedule) {
  begin_afresh(watched_[schedule]);
  request_failed(number);
}

/// The desk tries again until the next due time after the first refusal has come.
void World::note_refused_firing(const std::string& schedule, const PendingRequest& request) {
  auto& watched = watched_[schedule];
  watched.was_refused = true;
  const auto found = disk->content().schedules.find(schedule);
  if (found == disk->content().schedules.end() || watched.given_up_at) return;
  watched.given_up_at = std::max(request.asked_wall, now_wall) + found->second.spec.timing.every;
}

/// The engine has lost what it knew of the schedule and begins with what is on disk.
void World::begin_afresh(WatchedSchedule& watched) {
  watched.was_refused = false;
  watched.given_up_at.reset();
  watched.due_since.reset();
}

void World::watch_schedules_afresh() {
  for (auto& [name, watched] : watched_) begin_afresh(watched);
}

/// A job is committed for the first time.
void World::firing_stored(const Job& job) {
  const auto name = schedule_of(*job.spec);
  if (name.empty()) return;
  auto& watched = watched_[name];
  watched.jobs += 1;
  // A job that comes while others await their places is scheduled for that moment instead.
  if (job.state != JobState::scheduled && !watched.times.insert(job.run_at).second) {
    violated(Check::time_once, "a due time of " + name + " fires again: " + format_job_id(job.id));
  }
  const auto found = disk->content().schedules.find(name);
  if (found == disk->content().schedules.end()) return;
  const auto last = disk->jobs().find(watched.seen.progress.last_job);
  if (found->second.spec.overlap == Overlap::allow || last == disk->jobs().end()) return;
  if (!is_ended(last->second.job->state) && !ends_.contains(last->first)) {  // Reopened since.
    violated(Check::overlap, format_job_id(job.id) + " of " + name + " is submitted while " +
                                 format_job_id(last->first) + " has not ended");
  }
}

/// Called after every event.
void World::check_schedules() {
  for (const auto& [name, schedule] : disk->content().schedules) {
    auto& watched = watched_[name];
    if (watched.seen.name.empty()) {
      watched.seen = schedule;
      watched.jobs = schedule.progress.fired;
    }
    if (schedule.progress != watched.seen.progress) {
      check_progress(schedule, watched);
      watched.seen = schedule;
      begin_afresh(watched);
    }
    check_lateness(schedule, watched);
  }
}

void World::check_progress(const Schedule& schedule, const WatchedSchedule& watched) {
  const auto& before = watched.seen.progress;
  const auto& after = schedule.progress;
  const auto times = static_cast<std::int64_t>(times_of(after) - times_of(before));
  if (*after.next <= *before.next ||
      *before.next + schedule.spec.timing.every * times != *after.next) {
    violated(Check::time_kept, schedule.name + " does not account for all its due times");
  }
  if (after.fired != watched.jobs) {
    violated(Check::time_kept, schedule.name + " has fired " + std::to_string(after.fired) +
                                   " times and submitted " + std::to_string(watched.jobs) +
                                   " jobs");
  }
  const auto overdue = (latest_wall - *before.next) / schedule.spec.timing.every;
  const bool are_too_many = overdue >= static_cast<std::int64_t>(catch_up_max);
  const auto missed = after.missed - before.missed;
  const bool passes_one = after.fired + after.skipped > before.fired + before.skipped;
  const bool may_drop = schedule.spec.catch_up == CatchUp::none ||
                        (schedule.spec.catch_up == CatchUp::all && are_too_many) ||
                        (schedule.spec.catch_up == CatchUp::one && passes_one);
  if (missed > 0 && !watched.was_refused && !may_drop) {
    violated(Check::time_kept, schedule.name + " misses a due time without reason");
  }
  if (*before.next > latest_wall) violated(Check::time_kept, schedule.name + " fires too early");
}

void World::check_lateness(const Schedule& schedule, WatchedSchedule& watched) {
  const auto& next = schedule.progress.next;
  const bool waits = dying_ || is_shutting_down() || reload_;
  const bool tries = watched.given_up_at && now_wall < *watched.given_up_at;
  if (!next || *next > now_wall || waits || tries) {
    watched.due_since.reset();
  } else if (!watched.due_since) {
    watched.due_since = now_steady;
  } else if (now_steady > *watched.due_since + pass_allowance) {
    violated(Check::time_kept, schedule.name + " does not pass a due time");
  }
}

}  // namespace simulation
