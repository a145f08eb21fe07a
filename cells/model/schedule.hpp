// Schedules, which submit a job repeatedly. Pure: decides what a schedule does at a given time.
//
// A schedule has one next due time. When that is reached, one decision follows: the time fires (a
// job is submitted), is skipped, or is missed. The decision and a job on disk are one commit, so
// that each time fires at most once; until then the time stays due.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cells/model/cron.hpp"
#include "cells/model/ids.hpp"
#include "cells/model/job.hpp"
#include "cells/model/time.hpp"
#include "cells/model/time_zone.hpp"

namespace cells {

/// What happens at a due time while the schedule's previous job has not ended.
enum class Overlap : std::uint8_t {
  skip,   ///< The time is skipped.
  allow,  ///< The time fires.
};

/// What happens to due times that passed while celld was stopped, or in a jump of the clock.
enum class CatchUp : std::uint8_t {
  none,  ///< They are missed.
  one,   ///< The last of them fires, the others are missed.
  all,   ///< Each fires; of more than `catch_up_max`, only the last ones.
};
inline constexpr std::uint64_t catch_up_max = 1000;

std::string_view to_string(Overlap overlap);
std::string_view to_string(CatchUp catch_up);
std::optional<Overlap> parse_overlap(std::string_view name);
std::optional<CatchUp> parse_catch_up(std::string_view name);

/// When a schedule is due.
struct ScheduleTiming {
  milliseconds every{0};  ///< 0: at the times of `cron`.
  std::string cron{};
  std::string time_zone{};  ///< Of `cron`.

  bool operator==(const ScheduleTiming&) const = default;
};

/// What a client or the configuration wants.
struct ScheduleSpec {
  ScheduleTiming timing;
  Overlap overlap = Overlap::skip;
  CatchUp catch_up = CatchUp::one;
  bool paused = false;
  JobSpec job;  ///< A `timeout` or `max_attempts` of 0 means the cell's at the time.
  std::optional<WallTime> expires_at{};  ///< Of each job.

  bool operator==(const ScheduleSpec&) const = default;
};

/// How far a schedule has come.
struct ScheduleProgress {
  std::optional<WallTime> next{};  ///< The due time that is decided next; none while paused.
  JobId last_job = 0;              ///< The latest that the schedule submitted; 0: none.
  // Due times so far.
  std::uint64_t fired = 0;
  std::uint64_t skipped = 0;
  std::uint64_t missed = 0;

  bool operator==(const ScheduleProgress&) const = default;
};

struct Schedule {
  std::string name;
  std::uint64_t revision = 0;  ///< Grows with each change of `spec`.
  bool configured = false;     ///< Comes from the configuration, and is read-only for clients.
  ScheduleSpec spec;
  ScheduleProgress progress{};

  bool operator==(const Schedule&) const = default;
};

inline constexpr std::size_t schedules_max = 10'000;
/// Of all schedules together, by approximate_bytes.
inline constexpr std::size_t schedules_bytes_max = std::size_t{64} << 20;

/// Roughly the memory that a schedule takes.
std::size_t approximate_bytes(const Schedule& schedule);

/// A change of a schedule's progress. It applies only to the progress that it was made from, so
/// that no due time is decided twice, even by two owners.
struct ScheduleAdvance {
  std::string schedule;
  std::uint64_t revision = 0;
  std::optional<WallTime> next{};  ///< Of the progress before.
  ScheduleProgress after{};

  bool applies_to(const Schedule& stored) const {
    return stored.revision == revision && stored.progress.next == next;
  }

  bool operator==(const ScheduleAdvance&) const = default;
};

/// The due times of one schedule.
class Timetable {
 public:
  /// Nothing if there is no such time zone. The timing has been checked.
  static std::optional<Timetable> of(const ScheduleTiming& timing, const TimeZones& zones);

  /// The first due time of a schedule that begins now.
  std::optional<WallTime> first_after(WallTime now) const;

  /// The due time that follows `due`, which must itself be a due time.
  std::optional<WallTime> following(WallTime due) const;
  /// The n-th due time that follows `due`; `n` is small for a cron rule.
  std::optional<WallTime> following(WallTime due, std::uint64_t n) const;
  /// The first due time that is after `now` and not before `due`.
  std::optional<WallTime> following_after(WallTime due, WallTime now) const;

  /// The due times from `first`, itself a due time, to `last`.
  struct Stretch {
    std::uint64_t count = 0;
    WallTime end{};  ///< The last of them.
    std::optional<WallTime> next{};
    bool is_complete = true;  ///< False: the bound on the work cut the stretch short.
  };
  Stretch stretch(WallTime first, WallTime last) const;

 private:
  milliseconds every_{0};
  std::optional<CronRule> rule_;
  std::shared_ptr<const TimeZone> zone_;
};

/// What a schedule does next. A step decides `times` due times, of which at most one fires; it
/// leaves `next` as the next one.
struct ScheduleStep {
  enum class Kind : std::uint8_t {
    wait,  ///< Until `at`; without it, for ever.
    fire,  ///< Submit the job for the due time `at`.
    drop,  ///< All times of the step are missed.
  };
  Kind kind = Kind::wait;
  std::optional<WallTime> at{};
  std::uint64_t times = 0;
  std::optional<WallTime> next{};

  bool operator==(const ScheduleStep&) const = default;
};

/// A due time is overdue if it lies before `watched_since`, the earliest time that the daemon has
/// seen, or is noticed more than this late. CatchUp decides on overdue times.
inline constexpr milliseconds late_max{10'000};

ScheduleStep next_step(const Schedule& schedule, const Timetable& timetable, WallTime now,
                       WallTime watched_since);

/// What became of a due time.
enum class DueOutcome : std::uint8_t { fired, skipped, missed };
inline constexpr std::size_t due_outcome_count = 3;
std::string_view to_string(DueOutcome outcome);

// The progress after a step.

ScheduleProgress fired(ScheduleProgress progress, const ScheduleStep& step);
ScheduleProgress skipped(ScheduleProgress progress, const ScheduleStep& step);
ScheduleProgress missed(ScheduleProgress progress, const ScheduleStep& step);

/// The schedule with a new spec: `before` is the schedule that had this name, if there was one. The
/// next due time stays unless the timing changes or the schedule was paused.
Schedule respecified(const std::optional<Schedule>& before, std::string name, ScheduleSpec spec,
                     bool configured, const Timetable& timetable, WallTime now);

/// How long a firing that was refused waits until it is tried again.
milliseconds retry_pause(milliseconds retry_after);

}  // namespace cells
