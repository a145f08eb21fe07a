#include "cells/actors/schedule_desk.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "cells/actors/owed_answers.hpp"

namespace cells {
namespace {

using Outcome = ScheduleAnswered::Outcome;

/// How soon a jump of the wall clock is noticed (promise P10).
constexpr milliseconds longest_wait{1000};
/// After an error that leaves open what became of a submission or of a job.
constexpr milliseconds pause_after_error{1000};
/// The limits of all schedules, divided by this, are those of the tokens of one customer.
constexpr std::size_t customers_share = 10;

bool may_see(const std::optional<std::string>& customer, const Schedule& schedule) {
  return !customer || *customer == schedule.spec.job.customer;
}

class ScheduleDeskActor final : public ScheduleDesk::base {
 public:
  ScheduleDeskActor(caf::actor_config& config, ScheduleDeskOptions options)
      : ScheduleDesk::base(config), options_(std::move(options)) {}

  behavior_type make_behavior() override {
    load({"", false, options_.page_size});
    return {
        [this](PutSchedule& order) { return put(order); },
        [this](DeleteSchedule& order) { return remove(order); },
        [this](const DescribeSchedule& question) { return describe(question); },
        [this](const ListSchedules& question) { return list(question); },
        [this](const ConfigureSchedules& order) { return configure(order.schedules); },
        [this](const StopFiring&) { stopped_ = true; },
        [this](const Tick& tick) {
          if (tick.at != armed_) return;
          armed_.reset();
          take_due_steps();
        },
    };
  }

  void on_exit() override {
    owed_.fail();
    options_.store = nullptr;
    options_.reader = nullptr;
    options_.dispatcher = nullptr;
  }

 private:
  /// A firing that was refused, until it succeeds or the next due time comes.
  struct Attempt {
    ScheduleStep step;
    std::optional<WallTime> give_up{};
    SteadyTime again{};
  };

  struct Entry {
    Schedule schedule;
    std::optional<Timetable> timetable{};  ///< None: its time zone is unknown.
    std::optional<Attempt> attempt{};
    std::optional<SteadyTime> rests_until{};  ///< After an error.
    // Its keys in `due_` and `resting_`.
    std::optional<WallTime> due_key{};
    std::optional<SteadyTime> rest_key{};
  };

  Now now() const {
    const auto steady = clock().now().time_since_epoch();
    return {SteadyTime{std::chrono::duration_cast<microseconds>(steady)}, options_.wall_clock()};
  }

  // --- Starting ----------------------------------------------------------------------------------

  /// `await` keeps requests waiting meanwhile.
  void load(const LoadSchedules& page) {
    request(options_.store, caf::infinite, page)
        .await([this, page](const SchedulesLoaded& loaded) { page_loaded(page, loaded); },
               [this](caf::error& error) { quit(std::move(error)); });
  }

  void page_loaded(const LoadSchedules& page, const SchedulesLoaded& loaded) {
    for (const auto& schedule : loaded.schedules) adopt(schedule);
    if (loaded.schedules.size() == page.limit) {
      load({loaded.schedules.back().name, true, options_.page_size});
    }
  }

  Entry& adopt(Schedule schedule) {
    const std::string name = schedule.name;
    const auto [found, added] = entries_.try_emplace(name);
    Entry& entry = found->second;
    if (!added) bytes_ -= approximate_bytes(entry.schedule);
    bytes_ += approximate_bytes(schedule);
    entry.timetable = Timetable::of(schedule.spec.timing, *options_.zones);
    if (!entry.timetable) {
      options_.probe->schedule_without_zone(name, schedule.spec.timing.time_zone);
    }
    entry.schedule = std::move(schedule);
    entry.attempt.reset();
    return entry;
  }

  void forget(const std::string& name) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return;
    bytes_ -= approximate_bytes(found->second.schedule);
    entries_.erase(found);
  }

  // --- One thing at a time for each schedule -----------------------------------------------------

  /// Runs `work` once nothing else is under way for the schedule. `work` may call begin_work.
  void when_free(const std::string& name, std::function<void()> work) {
    const auto found = busy_.find(name);
    found == busy_.end() ? work() : found->second.push_back(std::move(work));
  }

  void begin_work(const std::string& name) {
    busy_[name];
    if (const auto found = entries_.find(name); found != entries_.end()) take_out(found->second);
  }

  void end_work(const std::string& name) {
    const auto held = busy_.extract(name);
    if (const auto found = entries_.find(name); found != entries_.end()) put_in(found->second);
    for (const auto& work : held.mapped()) when_free(name, work);
    take_due_steps();
  }

  /// Notes when to look at a schedule that is not busy.
  void put_in(Entry& entry) {
    const auto& progress = entry.schedule.progress;
    if (entry.rests_until) {
      entry.rest_key = entry.rests_until;
    } else if (entry.attempt) {
      entry.rest_key = entry.attempt->again;
      entry.due_key = entry.attempt->give_up;
    } else if (entry.timetable && !entry.schedule.spec.paused) {
      entry.due_key = progress.next;
    }
    if (entry.rest_key) resting_.emplace(*entry.rest_key, entry.schedule.name);
    if (entry.due_key) due_.emplace(*entry.due_key, entry.schedule.name);
  }

  void take_out(Entry& entry) {
    if (entry.rest_key) resting_.erase({*entry.rest_key, entry.schedule.name});
    if (entry.due_key) due_.erase({*entry.due_key, entry.schedule.name});
    entry.rest_key.reset();
    entry.due_key.reset();
    entry.rests_until.reset();
  }

  // --- Requests ----------------------------------------------------------------------------------

  caf::result<ScheduleAnswered> put(PutSchedule& order) {
    auto promise = make_response_promise<ScheduleAnswered>();
    when_free(order.name, [this, order, owed = owed_.add(promise)] { put_now(order, owed); });
    return promise;
  }

  void put_now(const PutSchedule& order, std::uint64_t owed) {
    const auto before = stored(order.name);
    if (const auto refused = refuse(before, order.customer)) {
      return owed_.deliver(owed, ScheduleAnswered{*refused, {}});
    }
    const auto timetable = Timetable::of(order.spec.timing, *options_.zones);
    if (!timetable) {
      return owed_.deliver(owed, caf::make_error(caf::sec::invalid_argument, "no such time zone"));
    }
    const auto next =
        respecified(before, order.name, order.spec, false, *timetable, options_.wall_clock());
    const auto freed = before ? approximate_bytes(*before) : 0;
    const bool is_full =
        (!before && entries_.size() + adding_ >= options_.schedules_max) ||
        (order.customer && is_customer_full(next, !before)) ||
        bytes_ + growing_bytes_ - freed + approximate_bytes(next) > options_.bytes_max;
    if (is_full) return owed_.deliver(owed, ScheduleAnswered{Outcome::too_many, {}});
    save(next, [this, owed, is_new = !before, next] {
      owed_.deliver(owed, ScheduleAnswered{is_new ? Outcome::added : Outcome::done, next});
    });
  }

  /// Whether the tokens of this schedule's customer may not store it: its schedules would be too
  /// many or too large. The number includes those that others are adding.
  bool is_customer_full(const Schedule& next, bool is_new) const {
    std::size_t number = is_new ? 1 + adding_ : 0;
    const auto growing = customers_growth_.find(next.spec.job.customer);
    std::size_t bytes =
        approximate_bytes(next) + (growing == customers_growth_.end() ? 0 : growing->second);
    for (const auto& [name, entry] : entries_) {
      const Schedule& other = entry.schedule;
      if (other.configured || other.spec.job.customer != next.spec.job.customer) continue;
      if (is_new) ++number;
      if (name != next.name) bytes += approximate_bytes(other);
    }
    const auto most = std::max<std::size_t>(1, options_.schedules_max / customers_share);
    return number > most || bytes > options_.bytes_max / customers_share;
  }

  caf::result<ScheduleAnswered> remove(DeleteSchedule& order) {
    auto promise = make_response_promise<ScheduleAnswered>();
    when_free(order.name, [this, order, owed = owed_.add(promise)] {
      const auto before = stored(order.name);
      const auto refused = before ? refuse(before, order.customer) : Outcome::not_found;
      if (refused) return owed_.deliver(owed, ScheduleAnswered{*refused, {}});
      erase(order.name,
            [this, owed, before] { owed_.deliver(owed, ScheduleAnswered{Outcome::done, before}); });
    });
    return promise;
  }

  std::optional<Schedule> stored(const std::string& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? std::nullopt : std::optional{found->second.schedule};
  }

  static std::optional<Outcome> refuse(const std::optional<Schedule>& before,
                                       const std::optional<std::string>& customer) {
    if (!before) return std::nullopt;
    if (!may_see(customer, *before)) return Outcome::not_found;
    return before->configured ? std::optional{Outcome::configured} : std::nullopt;
  }

  ScheduleDescribed describe(const DescribeSchedule& question) const {
    auto schedule = stored(question.name);
    if (schedule && !may_see(question.customer, *schedule)) schedule.reset();
    return {std::move(schedule)};
  }

  SchedulesListed list(const ListSchedules& question) const {
    SchedulesListed listed;
    std::size_t bytes = 0;
    auto next = question.after ? entries_.upper_bound(*question.after) : entries_.begin();
    for (; next != entries_.end(); ++next) {
      const Schedule& schedule = next->second.schedule;
      if (!may_see(question.customer, schedule)) continue;
      listed.more = listed.schedules.size() >= question.limit || bytes > question.bytes_max;
      if (listed.more) break;
      bytes += approximate_bytes(schedule);
      listed.schedules.push_back(schedule);
    }
    return listed;
  }

  // --- The configuration -------------------------------------------------------------------------

  caf::result<SchedulesConfigured> configure(
      const std::map<std::string, ScheduleSpec>& configured) {
    auto promise = make_response_promise<SchedulesConfigured>();
    const auto owed = owed_.add(promise);
    if (!watched_since_) watched_since_ = options_.wall_clock();
    auto open = std::make_shared<std::size_t>(1);
    const auto applied = [this, open, owed] {
      if (--*open == 0) owed_.deliver(owed, SchedulesConfigured{});
    };
    std::set<std::string> names;
    for (const auto& [name, entry] : entries_) names.insert(name);
    for (const auto& [name, spec] : configured) names.insert(name);
    for (const auto& name : names) {
      ++*open;
      const auto spec = configured.find(name);
      const auto wanted = spec == configured.end() ? std::nullopt : std::optional{spec->second};
      when_free(name, [this, name, wanted, applied] { apply_one(name, wanted, applied); });
    }
    applied();
    for (auto& [name, entry] : entries_) {
      if (busy_.contains(name)) continue;
      take_out(entry);
      put_in(entry);
    }
    take_due_steps();
    return promise;
  }

  void apply_one(const std::string& name, const std::optional<ScheduleSpec>& wanted,
                 const std::function<void()>& applied) {
    const auto before = stored(name);
    const bool was_configured = before && before->configured;
    if (!wanted) return was_configured ? erase(name, applied) : applied();
    if (was_configured && before->spec == *wanted) return applied();
    const auto timetable = Timetable::of(wanted->timing, *options_.zones);
    if (!timetable) return applied();  // Its time zone has become unknown since the check.
    save(respecified(before, name, *wanted, true, *timetable, options_.wall_clock()), applied);
  }

  // --- Changes -----------------------------------------------------------------------------------

  void save(const Schedule& schedule, std::function<void()> then) {
    begin_work(schedule.name);
    const auto before = entries_.find(schedule.name);
    const bool is_new = before == entries_.end();
    const auto bytes = approximate_bytes(schedule);
    const auto growth =
        is_new ? bytes : bytes - std::min(bytes, approximate_bytes(before->second.schedule));
    if (is_new) ++adding_;
    growing_bytes_ += growth;
    if (growth > 0 && !schedule.configured) customers_growth_[schedule.spec.job.customer] += growth;
    request(options_.store, caf::infinite, SaveSchedule{schedule})
        .then(
            [this, schedule, is_new, growth, then = std::move(then)](const ScheduleSaved&) {
              if (is_new) --adding_;
              growing_bytes_ -= growth;
              if (growth > 0 && !schedule.configured) has_grown(schedule.spec.job.customer, growth);
              adopt(schedule);
              then();
              end_work(schedule.name);
            },
            [this](caf::error& error) { quit(std::move(error)); });
  }

  void has_grown(const std::string& customer, std::size_t growth) {
    const auto growing = customers_growth_.find(customer);
    growing->second -= growth;
    if (growing->second == 0) customers_growth_.erase(growing);
  }

  void erase(const std::string& name, std::function<void()> then) {
    begin_work(name);
    request(options_.store, caf::infinite, RemoveSchedule{name})
        .then(
            [this, name, then = std::move(then)](const ScheduleRemoved&) {
              forget(name);
              then();
              end_work(name);
            },
            [this](caf::error& error) { quit(std::move(error)); });
  }

  // --- Due times ---------------------------------------------------------------------------------

  /// Takes the next step of each schedule whose time has come, and arms the timer. Takes no step
  /// before the first configuration, which may remove some of the schedules.
  void take_due_steps() {
    if (!watched_since_ || stopped_) return;
    const Now at = now();
    watched_since_ = std::min(*watched_since_, at.wall);  // The clock may have been set back.
    while (firings_ < options_.firings_max) {
      if (!due_.empty() && due_.begin()->first <= at.wall) {
        take_step(std::string{due_.begin()->second}, at);  // A copy: the step erases the entry.
      } else if (!resting_.empty() && resting_.begin()->first <= at.steady) {
        take_step(std::string{resting_.begin()->second}, at);
      } else {
        return arm(at);
      }
    }
  }

  /// Arms the timer for the next time on either clock. A wait for the wall clock is cut into
  /// pieces, so that a jump is noticed.
  void arm(const Now& at) {
    std::optional<SteadyTime> next;
    if (!due_.empty()) {
      next = at.steady + std::min(due_.begin()->first - at.wall, longest_wait);
    }
    if (!resting_.empty()) {
      next = std::min(next.value_or(resting_.begin()->first), resting_.begin()->first);
    }
    if (!next || (armed_ && *armed_ <= *next)) return;
    armed_ = next;
    delayed_send(this, *next - at.steady, Tick{*next});
  }

  /// Begins the next step of a schedule, or notes when it is due.
  void take_step(const std::string& name, const Now& at) {
    Entry& entry = entries_.at(name);
    take_out(entry);
    if (entry.attempt) return try_again(name, entry, at);
    if (!entry.timetable) return;
    const auto step = next_step(entry.schedule, *entry.timetable, at.wall, *watched_since_);
    switch (step.kind) {
      case ScheduleStep::Kind::wait:
        return put_in(entry);
      case ScheduleStep::Kind::drop:
        return advance(name, missed(entry.schedule.progress, step), DueOutcome::missed, step.times);
      case ScheduleStep::Kind::fire:
        entry.attempt = Attempt{step, give_up_time(*entry.timetable, step, at.wall), at.steady};
        return begin_firing(name, entry);
    }
  }

  static std::optional<WallTime> give_up_time(const Timetable& timetable, const ScheduleStep& step,
                                              WallTime now) {
    return step.next ? timetable.following_after(*step.next, now) : std::nullopt;
  }

  void try_again(const std::string& name, Entry& entry, const Now& at) {
    const Attempt& attempt = *entry.attempt;
    if (attempt.give_up && at.wall >= *attempt.give_up) {
      const auto step = std::exchange(entry.attempt, std::nullopt)->step;
      advance(name, missed(entry.schedule.progress, step), DueOutcome::missed, step.times);
    } else if (at.steady >= attempt.again) {
      submit(name, entry);
    } else {
      put_in(entry);
    }
  }

  /// Under Overlap::skip, first checks whether the last job has ended.
  void begin_firing(const std::string& name, Entry& entry) {
    const JobId last_job = entry.schedule.progress.last_job;
    if (entry.schedule.spec.overlap == Overlap::allow || last_job == 0) return submit(name, entry);
    begin_work(name);
    ++firings_;
    request(options_.reader, caf::infinite, FindJob{last_job})
        .then(
            [this, name](const JobFound& found) {
              --firings_;
              if (stopped_) return end_work(name);
              Entry& looked_at = entries_.at(name);
              if (!found.job || is_ended(found.job->state)) return submit(name, looked_at);
              const auto step = std::exchange(looked_at.attempt, std::nullopt)->step;
              advance(name, skipped(looked_at.schedule.progress, step), DueOutcome::skipped, 1,
                      step.times - 1);
            },
            [this, name](const caf::error&) {
              --firings_;
              entries_.at(name).attempt.reset();  // The reader may answer the next time.
              retry_later(name);
            });
  }

  void submit(const std::string& name, Entry& entry) {
    begin_work(name);
    ++firings_;
    const Schedule& schedule = entry.schedule;
    const ScheduleStep& step = entry.attempt->step;
    JobRequest job;
    job.spec = schedule.spec.job;
    job.run_at = step.at;
    job.expires_at = schedule.spec.expires_at;
    job.firing = ScheduleAdvance{name, schedule.revision, schedule.progress.next,
                                 fired(schedule.progress, step)};
    request(options_.dispatcher, caf::infinite, SubmitJob{std::move(job)})
        .then(
            [this, name](const JobSubmitted& answer) {
              --firings_;
              submitted(name, answer);
            },
            [this, name](const caf::error&) {
              --firings_;
              reload(name);
            });
  }

  void submitted(const std::string& name, const JobSubmitted& answer) {
    Entry& entry = entries_.at(name);
    if (answer.refusal) {
      options_.probe->firing_refused(name, *answer.refusal);
      entry.attempt->again = now().steady + retry_pause(answer.refusal->retry_after);
      return end_work(name);
    }
    if (!answer.job) return reload(name);
    const auto step = std::exchange(entry.attempt, std::nullopt)->step;
    entry.schedule.progress = fired(entry.schedule.progress, step);
    entry.schedule.progress.last_job = answer.job->id;
    passed(name, DueOutcome::fired, 1, step.times - 1);
  }

  /// Stores the progress of a step without a job.
  void advance(const std::string& name, const ScheduleProgress& after, DueOutcome outcome,
               std::uint64_t times, std::uint64_t missed_too = 0) {
    begin_work(name);
    const Schedule& schedule = entries_.at(name).schedule;
    const ScheduleAdvance advance{name, schedule.revision, schedule.progress.next, after};
    request(options_.store, caf::infinite, AdvanceSchedule{advance})
        .then(
            [this, name, after, outcome, times, missed_too](const ScheduleAdvanced& answer) {
              if (!answer.applied) return reload(name);
              entries_.at(name).schedule.progress = after;
              passed(name, outcome, times, missed_too);
            },
            [this](caf::error& error) { quit(std::move(error)); });
  }

  void passed(const std::string& name, DueOutcome outcome, std::uint64_t times,
              std::uint64_t missed_too) {
    options_.probe->due_times_passed(name, outcome, times);
    if (missed_too > 0) options_.probe->due_times_passed(name, DueOutcome::missed, missed_too);
    end_work(name);
  }

  /// Reads the schedule from the store, because the engine could not tell what became of a firing,
  /// or the schedule had already decided that time.
  void reload(const std::string& name) {
    request(options_.store, caf::infinite, LoadSchedules{name, false, 1})
        .then(
            [this, name](const SchedulesLoaded& loaded) {
              const bool found = !loaded.schedules.empty() && loaded.schedules.front().name == name;
              found ? void(adopt(loaded.schedules.front())) : forget(name);
              retry_later(name);
            },
            [this](caf::error& error) { quit(std::move(error)); });
  }

  /// Ends the work for a schedule after a pause, so that a lasting failure does not make a loop.
  void retry_later(const std::string& name) {
    if (const auto found = entries_.find(name); found != entries_.end()) {
      found->second.rests_until = now().steady + pause_after_error;
    }
    end_work(name);
  }

  ScheduleDeskOptions options_;
  std::map<std::string, Entry> entries_;
  /// Schedules with work under way, each with the work that waits for its end.
  std::map<std::string, std::vector<std::function<void()>>> busy_;
  // When to look at the schedules that are not busy.
  std::set<std::pair<WallTime, std::string>> due_;
  std::set<std::pair<SteadyTime, std::string>> resting_;
  OpenPromises owed_;
  std::optional<WallTime> watched_since_{};  ///< Set by the first configuration.
  bool stopped_ = false;
  std::size_t firings_ = 0;        ///< Under way.
  std::size_t adding_ = 0;         ///< New schedules that are being stored.
  std::size_t bytes_ = 0;          ///< Of all schedules.
  std::size_t growing_bytes_ = 0;  ///< What schedules being stored will add to `bytes_`.
  std::map<std::string, std::size_t> customers_growth_;  ///< The part of clients, by customer.
  std::optional<SteadyTime> armed_{};
};

}  // namespace

ScheduleDesk spawn_schedule_desk(caf::actor_system& system, ScheduleDeskOptions options) {
  return system.spawn<ScheduleDeskActor>(std::move(options));
}

}  // namespace cells
