#include "cells/model/schedule.hpp"

#include <algorithm>
#include <utility>

namespace cells {
namespace {

/// The most due times of a cron rule that one step looks at.
constexpr std::uint64_t stretch_max = 10'000;

constexpr milliseconds tick{1};

/// Due times up to this one, inclusive, are overdue.
WallTime overdue_until(WallTime now, WallTime watched_since) {
  return std::max(watched_since, now - late_max) - tick;
}

ScheduleProgress advanced(ScheduleProgress progress, const ScheduleStep& step,
                          std::uint64_t missed) {
  progress.missed += missed;
  progress.next = step.next;
  return progress;
}

ScheduleStep drop(std::uint64_t times, std::optional<WallTime> next) {
  return {ScheduleStep::Kind::drop, std::nullopt, times, next};
}

ScheduleStep fire(WallTime at, std::uint64_t times, std::optional<WallTime> next) {
  return {ScheduleStep::Kind::fire, at, times, next};
}

/// The step for due times that passed unseen by celld, beginning with `first`.
ScheduleStep catch_up(CatchUp policy, const Timetable& timetable, WallTime first,
                      const Timetable::Stretch& stretch) {
  if (policy == CatchUp::all) {
    if (stretch.count <= catch_up_max) return fire(first, 1, timetable.following(first));
    const auto surplus = stretch.count - catch_up_max;
    return drop(surplus, timetable.following(first, surplus));
  }
  if (policy == CatchUp::one && stretch.is_complete)
    return fire(stretch.end, stretch.count, stretch.next);
  return drop(stretch.count, stretch.next);
}

}  // namespace

std::string_view to_string(Overlap overlap) {
  return overlap == Overlap::skip ? "skip" : "allow";
}

std::string_view to_string(CatchUp catch_up) {
  switch (catch_up) {
    case CatchUp::none:
      return "none";
    case CatchUp::one:
      return "one";
    case CatchUp::all:
      return "all";
  }
  return "?";
}

std::string_view to_string(DueOutcome outcome) {
  switch (outcome) {
    case DueOutcome::fired:
      return "fired";
    case DueOutcome::skipped:
      return "skipped";
    case DueOutcome::missed:
      return "missed";
  }
  return "?";
}

std::optional<Overlap> parse_overlap(std::string_view name) {
  for (const auto overlap : {Overlap::skip, Overlap::allow}) {
    if (name == to_string(overlap)) return overlap;
  }
  return std::nullopt;
}

std::optional<CatchUp> parse_catch_up(std::string_view name) {
  for (const auto catch_up : {CatchUp::none, CatchUp::one, CatchUp::all}) {
    if (name == to_string(catch_up)) return catch_up;
  }
  return std::nullopt;
}

std::size_t approximate_bytes(const Schedule& schedule) {
  const JobSpec& job = schedule.spec.job;
  std::size_t bytes = 1024 + job.parameters.size();
  for (const auto& [name, value] : job.labels) bytes += name.size() + value.size() + 64;
  return bytes;
}

// --- The due times -------------------------------------------------------------------------------

std::optional<Timetable> Timetable::of(const ScheduleTiming& timing, const TimeZones& zones) {
  Timetable timetable;
  timetable.every_ = timing.every;
  if (timing.every > milliseconds{0}) return timetable;
  auto parsed = CronRule::parse(timing.cron);
  const auto* rule = std::get_if<CronRule>(&parsed);
  if (rule == nullptr) return std::nullopt;
  timetable.rule_ = *rule;
  timetable.zone_ = zones.find(timing.time_zone);
  if (!timetable.zone_) return std::nullopt;
  return timetable;
}

std::optional<WallTime> Timetable::first_after(WallTime now) const {
  return rule_ ? rule_->next_after(now, *zone_) : now + every_;
}

std::optional<WallTime> Timetable::following(WallTime due) const {
  return first_after(due);
}

std::optional<WallTime> Timetable::following(WallTime due, std::uint64_t n) const {
  if (!rule_) return due + every_ * static_cast<milliseconds::rep>(n);
  std::optional<WallTime> at = due;
  for (; n > 0 && at; --n) at = following(*at);
  return at;
}

std::optional<WallTime> Timetable::following_after(WallTime due, WallTime now) const {
  if (due > now) return due;
  return rule_ ? first_after(now) : stretch(due, now).next;
}

Timetable::Stretch Timetable::stretch(WallTime first, WallTime last) const {
  Stretch stretch{1, first, std::nullopt, true};
  if (!rule_) {
    const auto more = last > first ? (last - first) / every_ : 0;
    stretch.count += static_cast<std::uint64_t>(more);
    stretch.end += every_ * more;
    stretch.next = stretch.end + every_;
    return stretch;
  }
  stretch.next = following(first);
  while (stretch.next && *stretch.next <= last && stretch.is_complete) {
    stretch.end = *stretch.next;
    stretch.next = following(stretch.end);
    stretch.is_complete = ++stretch.count < stretch_max;
  }
  return stretch;
}

// --- Steps ---------------------------------------------------------------------------------------

ScheduleStep next_step(const Schedule& schedule, const Timetable& timetable, WallTime now,
                       WallTime watched_since) {
  const auto& next = schedule.progress.next;
  if (schedule.spec.paused || !next) return {};
  if (*next > now) return {ScheduleStep::Kind::wait, next, 0, next};
  const auto unwatched = overdue_until(now, watched_since);
  if (*next > unwatched) return fire(*next, 1, timetable.following(*next));
  return catch_up(schedule.spec.catch_up, timetable, *next, timetable.stretch(*next, unwatched));
}

ScheduleProgress fired(ScheduleProgress progress, const ScheduleStep& step) {
  progress.fired += 1;
  return advanced(progress, step, step.times - 1);
}

ScheduleProgress skipped(ScheduleProgress progress, const ScheduleStep& step) {
  progress.skipped += 1;
  return advanced(progress, step, step.times - 1);
}

ScheduleProgress missed(ScheduleProgress progress, const ScheduleStep& step) {
  return advanced(progress, step, step.times);
}

Schedule respecified(const std::optional<Schedule>& before, std::string name, ScheduleSpec spec,
                     bool configured, const Timetable& timetable, WallTime now) {
  Schedule schedule{std::move(name), 0, configured, std::move(spec), {}};
  schedule.revision = static_cast<std::uint64_t>(now.time_since_epoch().count());
  bool goes_on = false;
  if (before) {
    schedule.revision = std::max(schedule.revision, before->revision + 1);
    schedule.progress = before->progress;
    goes_on = before->spec.timing == schedule.spec.timing && !before->spec.paused;
  }
  if (schedule.spec.paused) {
    schedule.progress.next.reset();
  } else if (!goes_on) {
    schedule.progress.next = timetable.first_after(now);
  }
  return schedule;
}

milliseconds retry_pause(milliseconds retry_after) {
  return std::clamp(retry_after, milliseconds{1000}, milliseconds{10'000});
}

}  // namespace cells
