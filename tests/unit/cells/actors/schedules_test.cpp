// Schedules submit their jobs on time, each due time once.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cells/actors/schedule_desk.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"
#include "tests/unit/cells/model/zones.hpp"

using namespace cells;  // NOLINT: tests of the engine.
using namespace cells_test;

namespace {

constexpr milliseconds minute{60'000};

/// Counts what became of due times.
struct Outcomes : EngineProbe {
  void due_times_passed(const std::string&, DueOutcome outcome, std::uint64_t times) override {
    counts[outcome] += times;
  }
  void firing_refused(const std::string&, const Refusal&) override { ++refused; }
  void schedule_without_zone(const std::string& schedule, const std::string&) override {
    without_zone.push_back(schedule);
  }
  std::map<DueOutcome, std::uint64_t> counts;
  std::size_t refused = 0;
  std::vector<std::string> without_zone;
};

/// The most that a desk keeps.
struct DeskLimits {
  std::size_t schedules = schedules_max;
  std::size_t bytes = schedules_bytes_max;
  std::size_t firings = ScheduleDeskOptions{}.firings_max;
};

/// A schedule desk on the engine of a fixture; ends before the fixture, and with a crash.
class Desk {
 public:
  explicit Desk(Fixture& fixture, std::map<std::string, ScheduleSpec> configured = {},
                const DeskLimits& limits = {})
      : fixture_(fixture), limits_(limits) {
    start(std::move(configured));
  }
  ~Desk() { stop(); }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  void crash_and_restart(std::map<std::string, ScheduleSpec> configured = {}) {
    stop();
    fixture_.crash_and_restart();
    start(std::move(configured));
  }

  template <class Answer, class Question>
  Answer ask(Question question) {
    auto pending = fixture_.self()->request(desk_, caf::infinite, std::move(question));
    fixture_.run_all();
    Answer answer;
    pending.receive([&](Answer& received) { answer = std::move(received); },
                    [](const caf::error&) { throw std::runtime_error("the desk failed"); });
    return answer;
  }

  ScheduleAnswered put(const std::string& name, ScheduleSpec spec,
                       std::optional<std::string> customer = {}) {
    return ask<ScheduleAnswered>(PutSchedule{name, std::move(spec), std::move(customer)});
  }
  std::optional<Schedule> find(const std::string& name) {
    return ask<ScheduleDescribed>(DescribeSchedule{name, {}}).schedule;
  }
  ScheduleProgress progress(const std::string& name) { return find(name).value().progress; }
  void configure(std::map<std::string, ScheduleSpec> configured) {
    ask<SchedulesConfigured>(ConfigureSchedules{std::move(configured)});
  }

  /// From now on, look-ups of jobs fail.
  void lose_reader() {
    caf::anon_send_exit(reader_, caf::exit_reason::kill);
    fixture_.run_all();
  }

  const ScheduleDesk& handle() const { return desk_; }

  std::shared_ptr<Outcomes> outcomes = std::make_shared<Outcomes>();

 private:
  void start(std::map<std::string, ScheduleSpec> configured) {
    reader_ = celld::store::spawn_memory_reader(fixture_.system(), fixture_.disk);
    const auto probe_list =
        std::make_shared<ProbeList>(std::vector<std::shared_ptr<EngineProbe>>{outcomes});
    desk_ =
        spawn_schedule_desk(fixture_.system(), {.store = fixture_.store(),
                                                .reader = reader_,
                                                .dispatcher = fixture_.engine(),
                                                .wall_clock = [this] { return fixture_.wall; },
                                                .zones = std::make_shared<model_test::FewZones>(),
                                                .probe = probe_list,
                                                .firings_max = limits_.firings,
                                                .schedules_max = limits_.schedules,
                                                .bytes_max = limits_.bytes});
    configure(std::move(configured));
  }
  void stop() {
    caf::anon_send_exit(desk_, caf::exit_reason::kill);
    caf::anon_send_exit(reader_, caf::exit_reason::kill);
    desk_ = nullptr;
    reader_ = nullptr;
    fixture_.run_all();
  }

  Fixture& fixture_;
  const DeskLimits limits_;
  JobReader reader_;
  ScheduleDesk desk_;
};

ScheduleSpec every(Fixture& fixture, milliseconds interval, Overlap overlap = Overlap::allow) {
  ScheduleSpec spec;
  spec.timing.every = interval;
  spec.overlap = overlap;
  spec.job = fixture.request("scheduled").spec;
  return spec;
}

std::size_t jobs(const Fixture& fixture) {
  return fixture.disk->jobs().size();
}

using Outcome = ScheduleAnswered::Outcome;
using Answers = std::vector<Outcome>;

/// So much memory that one customer's share has room for two such schedules, and not for three.
std::size_t bytes_for_two(const ScheduleSpec& spec) {
  Schedule sample;
  sample.spec = spec;
  return 10 * (2 * approximate_bytes(sample) + 1000);
}

/// Puts schedules before any of them is stored.
Answers put_at_once(Fixture& fixture, const Desk& desk,
                    const std::vector<std::pair<std::string, ScheduleSpec>>& schedules,
                    const std::optional<std::string>& customer = {}) {
  const auto put = [&](const std::string& name, const ScheduleSpec& spec) {
    return fixture.self()->request(desk.handle(), caf::infinite, PutSchedule{name, spec, customer});
  };
  std::vector<decltype(put({}, {}))> pending;
  fixture.commit_delay = milliseconds{5000};
  for (const auto& [name, spec] : schedules) pending.push_back(put(name, spec));
  fixture.run_all();
  fixture.commit_delay = milliseconds{0};
  fixture.pass(milliseconds{5000});
  Answers answers;
  for (auto& each : pending) {
    each.receive([&](const ScheduleAnswered& answer) { answers.push_back(answer.outcome); },
                 [](const caf::error&) { FAIL("the desk failed"); });
  }
  return answers;
}

}  // namespace

TEST_CASE("a schedule submits a job at each due time, for that time") {
  Fixture fixture;
  Desk desk{fixture};
  CHECK(desk.put("s", every(fixture, minute)).outcome == Outcome::added);
  const auto begin = fixture.wall;
  fixture.pass(minute - milliseconds{1});
  CHECK(jobs(fixture) == 0);
  fixture.pass(milliseconds{1});
  REQUIRE(jobs(fixture) == 1);
  const auto first = desk.progress("s").last_job;
  CHECK(fixture.stored(first)->run_at == begin + minute);
  for (int i = 0; i < 600; ++i) fixture.pass(milliseconds{1000});
  CHECK(jobs(fixture) == 11);
  CHECK(desk.progress("s").fired == 11);
  CHECK(desk.progress("s").next == begin + 12 * minute);
  CHECK(desk.outcomes->counts[DueOutcome::fired] == 11);
  CHECK(desk.outcomes->counts[DueOutcome::missed] == 0);
}

TEST_CASE("a due time that had fired before a crash fires no second time") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("s", every(fixture, minute));
  fixture.pass(minute);
  CHECK(jobs(fixture) == 1);
  for (int i = 0; i < 5; ++i) desk.crash_and_restart();
  fixture.pass(milliseconds{1000});
  CHECK(jobs(fixture) == 1);
  fixture.pass(minute);
  CHECK(jobs(fixture) == 2);
}

TEST_CASE("a start takes up every schedule, however many there are, and each of them fires") {
  constexpr std::size_t count = 230;  // The desk loads 100 at a time, and fires 64 at once.
  Fixture fixture;
  Desk desk{fixture};
  for (std::size_t i = 0; i < count; ++i) {
    desk.put("s" + std::to_string(i), every(fixture, minute));
  }
  desk.crash_and_restart();
  CHECK(jobs(fixture) == 0);
  fixture.pass(minute);
  CHECK(jobs(fixture) == count);
  const auto schedules = desk.ask<SchedulesListed>(ListSchedules{{}, count + 1}).schedules;
  CHECK(schedules.size() == count);
  for (const auto& schedule : schedules) CHECK(schedule.progress.fired == 1);
}

TEST_CASE("after a stop, `one` fires once for the times that were missed") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("one", every(fixture, minute));
  auto spec = every(fixture, minute);
  spec.catch_up = CatchUp::none;
  desk.put("none", spec);
  spec.catch_up = CatchUp::all;
  desk.put("all", spec);
  fixture.wall += 5 * minute + milliseconds{1000};  // While celld is stopped.
  desk.crash_and_restart();
  fixture.pass(milliseconds{1000});
  CHECK(desk.progress("one").fired == 1);
  CHECK(desk.progress("one").missed == 4);
  CHECK(desk.progress("none").fired == 0);
  CHECK(desk.progress("none").missed == 5);
  CHECK(desk.progress("all").fired == 5);
  CHECK(desk.progress("all").missed == 0);
  CHECK(desk.outcomes->counts[DueOutcome::fired] == 6);
  CHECK(desk.outcomes->counts[DueOutcome::missed] == 9);
  CHECK(jobs(fixture) == 6);
}

TEST_CASE("after a stop, `all` tries each missed time until the cell takes its job") {
  Fixture fixture;
  Desk desk{fixture};
  auto spec = every(fixture, minute);
  spec.catch_up = CatchUp::all;
  desk.put("all", spec);
  fixture.wall += 5 * minute + milliseconds{1000};  // While celld is stopped.
  fixture.set_state(CellState::draining);
  desk.crash_and_restart();
  for (int second = 0; second < 5; ++second) fixture.pass(milliseconds{1000});
  CHECK(jobs(fixture) == 0);
  fixture.set_state(CellState::active);
  for (int second = 0; second < 40; ++second) fixture.pass(milliseconds{1000});
  CHECK(desk.progress("all").fired == 5);
  CHECK(desk.progress("all").missed == 0);
}

TEST_CASE("a clock that is set back fires nothing again, and one set ahead is noticed") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("s", every(fixture, minute));
  fixture.pass(minute);
  fixture.wall -= 10 * minute;
  for (int i = 0; i < 600; ++i) fixture.pass(milliseconds{1000});
  CHECK(jobs(fixture) == 1);
  fixture.wall += minute;
  fixture.pass(milliseconds{1000});
  CHECK(jobs(fixture) == 2);
}

TEST_CASE("a schedule that is added after the clock was set back behind the start fires on time") {
  Fixture fixture;
  Desk desk{fixture};
  fixture.wall -= 120 * minute;
  for (const auto policy : {CatchUp::none, CatchUp::one, CatchUp::all}) {
    auto spec = every(fixture, minute);
    spec.catch_up = policy;
    desk.put("s", spec);
    const auto before = jobs(fixture);
    fixture.pass(minute + milliseconds{20});
    CHECK(jobs(fixture) == before + 1);
    CHECK(desk.progress("s").missed == 0);
  }
}

TEST_CASE("a job that a schedule submits after its expires_at fails with `expired`") {
  Fixture fixture;
  Desk desk{fixture};
  auto spec = every(fixture, minute);
  spec.expires_at = fixture.wall + minute / 2;
  desk.put("s", spec);
  fixture.pass(minute);
  const auto job = fixture.stored(desk.progress("s").last_job);
  REQUIRE(job->state == JobState::failed);
  CHECK(job->error->code == "expired");
}

TEST_CASE("with `skip`, a time is skipped while the last job has not ended") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("s", every(fixture, minute, Overlap::skip));
  fixture.pass(minute);
  const auto first = desk.progress("s").last_job;
  fixture.calls->ignores_aborts = true;  // The job goes on beyond its timeout.
  fixture.pass(minute);
  CHECK(jobs(fixture) == 1);
  CHECK(desk.progress("s").skipped == 1);
  CHECK(desk.outcomes->counts[DueOutcome::skipped] == 1);
  CHECK(desk.outcomes->counts[DueOutcome::missed] == 0);
  CHECK(desk.progress("s").last_job == first);
  fixture.calls->ignores_aborts = false;
  fixture.cancel(first);
  if (fixture.call_of(first)) fixture.end_call(first, outcome(CallOutcome::Kind::aborted));
  REQUIRE(is_ended(fixture.state(first)));
  fixture.pass(minute);
  CHECK(jobs(fixture) == 2);
  CHECK(desk.progress("s").fired == 2);
}

TEST_CASE("with `skip`, the times before one that is skipped after a stop are missed") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("s", every(fixture, minute, Overlap::skip));
  fixture.pass(minute);
  const auto first = desk.progress("s").last_job;
  fixture.wall += 5 * minute + milliseconds{1000};  // While celld is stopped.
  desk.crash_and_restart();
  REQUIRE_FALSE(is_ended(fixture.state(first)));
  CHECK(desk.progress("s").skipped == 1);
  CHECK(desk.outcomes->counts[DueOutcome::skipped] == 1);
  CHECK(desk.progress("s").missed == 4);
  CHECK(desk.outcomes->counts[DueOutcome::missed] == 4);
}

TEST_CASE("a failed look-up of a last job holds up no other schedule") {
  Fixture fixture;
  Desk desk{fixture, {}, {.firings = 1}};
  desk.put("s", every(fixture, minute, Overlap::skip));
  fixture.pass(minute);
  desk.lose_reader();
  fixture.pass(minute);
  CHECK(desk.progress("s").fired == 1);
  desk.put("t", every(fixture, minute));
  fixture.pass(2 * minute);
  CHECK(desk.progress("t").fired == 2);
}

TEST_CASE("with `skip`, nothing fires while it is unknown whether the last job has ended") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("s", every(fixture, minute, Overlap::skip));
  fixture.pass(minute);
  fixture.calls->ignores_aborts = true;  // The job goes on beyond its timeout.
  desk.lose_reader();
  fixture.pass(minute);
  for (int second = 0; second < 3; ++second) fixture.pass(milliseconds{1000});
  CHECK(jobs(fixture) == 1);
}

TEST_CASE("a refused firing is tried again, and missed when the next one is due") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("s", every(fixture, minute));
  const auto begin = fixture.wall;
  fixture.set_state(CellState::draining);
  for (int i = 0; i < 100; ++i) fixture.pass(milliseconds{1000});
  CHECK(desk.progress("s").fired == 0);
  CHECK(desk.outcomes->refused > 2);
  fixture.set_state(CellState::active);
  fixture.pass(milliseconds{10'000});
  CHECK(desk.progress("s").fired == 1);
  CHECK(desk.progress("s").missed == 0);
  CHECK(fixture.stored(desk.progress("s").last_job)->run_at == begin + minute);

  fixture.set_state(CellState::draining);
  for (int i = 0; i < 115; ++i) fixture.pass(milliseconds{1000});
  fixture.set_state(CellState::active);
  for (int i = 0; i < 10; ++i) fixture.pass(milliseconds{1000});
  CHECK(desk.progress("s").missed == 1);
  CHECK(desk.progress("s").fired == 2);
  CHECK(fixture.stored(desk.progress("s").last_job)->run_at == begin + 3 * minute);
}

TEST_CASE("a firing that is refused for a minute is tried again after ten seconds") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("s", every(fixture, minute));
  fixture.set_state(CellState::draining);
  fixture.pass(minute);
  REQUIRE(desk.outcomes->refused == 1);
  fixture.pass(milliseconds{9999});
  CHECK(desk.outcomes->refused == 1);
  fixture.pass(milliseconds{1});
  CHECK(desk.outcomes->refused == 2);
}

TEST_CASE("a full queue refuses the job of a schedule, and a place lets it in") {
  Fixture fixture;
  fixture.limit_jobs(1);
  fixture.crash_and_restart();
  const auto occupant = fixture.submit("occupant");
  Desk desk{fixture};
  desk.put("s", every(fixture, std::chrono::hours{1}));
  fixture.pass(std::chrono::hours{1});
  CHECK(desk.progress("s").fired == 0);
  fixture.cancel(occupant);
  for (int i = 0; i < 70; ++i) fixture.pass(milliseconds{1000});
  CHECK(desk.progress("s").fired == 1);
}

TEST_CASE("a paused schedule fires nothing, and goes on from when it is resumed") {
  Fixture fixture;
  Desk desk{fixture};
  auto spec = every(fixture, minute);
  spec.paused = true;
  CHECK_FALSE(desk.put("s", spec).schedule->progress.next);
  fixture.pass(10 * minute);
  CHECK(jobs(fixture) == 0);
  spec.paused = false;
  CHECK(desk.put("s", spec).outcome == Outcome::done);
  fixture.pass(minute - milliseconds{1});
  CHECK(jobs(fixture) == 0);
  fixture.pass(milliseconds{1});
  CHECK(jobs(fixture) == 1);
  CHECK(desk.progress("s").missed == 0);
}

TEST_CASE("a schedule that is paused while its job is refused does not submit it again") {
  Fixture fixture;
  Desk desk{fixture};
  auto spec = every(fixture, minute);
  desk.put("s", spec);
  fixture.set_state(CellState::draining);
  fixture.pass(minute);
  REQUIRE(desk.outcomes->refused == 1);
  spec.paused = true;
  CHECK(desk.put("s", spec).outcome == Outcome::done);
  fixture.set_state(CellState::active);
  fixture.pass(milliseconds{20'000});
  CHECK(jobs(fixture) == 0);
}

TEST_CASE("schedules that change take no room from new ones") {
  Fixture fixture;
  Desk desk{fixture};
  for (int i = 1; i <= 5; ++i) desk.put("s", every(fixture, i * minute));
  CHECK(desk.put("t", every(fixture, minute)).outcome == Outcome::added);
}

TEST_CASE("there are no more schedules than the limit allows, counting those being stored") {
  Fixture fixture;
  Desk desk{fixture, {}, {.schedules = 3}};
  const auto spec = every(fixture, minute);
  desk.put("a", spec);
  CHECK(put_at_once(fixture, desk, {{"b", spec}, {"c", spec}, {"a", spec}, {"d", spec}}) ==
        Answers{Outcome::added, Outcome::added, Outcome::done, Outcome::too_many});
  CHECK(desk.put("e", spec).outcome == Outcome::too_many);
  CHECK(desk.ask<ScheduleAnswered>(DeleteSchedule{"b", {}}).outcome == Outcome::done);
  CHECK(desk.put("e", spec).outcome == Outcome::added);
}

TEST_CASE("the tokens of one customer can add a tenth of all schedules") {
  Fixture fixture;
  const auto spec = every(fixture, minute);
  const auto customer = spec.job.customer;
  Desk desk{fixture, {{"of-the-operator", spec}}, {.schedules = 30}};
  CHECK(desk.put("c", spec).outcome == Outcome::added);
  for (const auto* name : {"a", "b"}) {
    CHECK(desk.put(name, spec, customer).outcome == Outcome::added);
  }
  CHECK(desk.put("d", spec, customer).outcome == Outcome::too_many);
  CHECK(desk.put("a", spec, customer).outcome == Outcome::done);
  CHECK(desk.put("d", spec).outcome == Outcome::added);
  auto other = spec;
  other.job.customer = "other";
  CHECK(desk.put("e", other, "other").outcome == Outcome::added);
}

TEST_CASE("schedules that are still being stored count towards the share of their customer") {
  Fixture fixture;
  const auto spec = every(fixture, minute);
  Desk desk{fixture, {}, {.schedules = 20}};
  CHECK(put_at_once(fixture, desk, {{"a", spec}, {"b", spec}, {"c", spec}}, spec.job.customer) ==
        Answers{Outcome::added, Outcome::added, Outcome::too_many});
}

TEST_CASE("the tokens of one customer can use a tenth of the memory for schedules") {
  Fixture fixture;
  auto spec = every(fixture, minute);
  spec.job.parameters.assign(10'000, ' ');
  Desk desk{fixture, {}, {.bytes = bytes_for_two(spec)}};
  const auto customer = spec.job.customer;
  CHECK(desk.put("a", spec, customer).outcome == Outcome::added);
  CHECK(desk.put("b", spec, customer).outcome == Outcome::added);
  CHECK(desk.put("c", spec, customer).outcome == Outcome::too_many);
  spec.job.parameters.assign(12'000, ' ');
  CHECK(desk.put("a", spec, customer).outcome == Outcome::too_many);
  CHECK(desk.put("a", spec).outcome == Outcome::done);
}

TEST_CASE("what is still being stored counts towards the memory for one customer") {
  Fixture fixture;
  auto spec = every(fixture, minute);
  spec.job.parameters.assign(10'000, ' ');
  Desk desk{fixture, {}, {.bytes = bytes_for_two(spec)}};
  CHECK(put_at_once(fixture, desk, {{"a", spec}, {"b", spec}, {"c", spec}}, spec.job.customer) ==
        Answers{Outcome::added, Outcome::added, Outcome::too_many});
}

TEST_CASE("changes that add no bytes may be stored at once") {
  Fixture fixture;
  const auto spec = every(fixture, minute);
  Desk desk{fixture};
  CHECK(put_at_once(fixture, desk, {{"a", spec}, {"b", spec}}, spec.job.customer) ==
        Answers{Outcome::added, Outcome::added});
  auto paused = spec;
  paused.paused = true;
  CHECK(put_at_once(fixture, desk, {{"a", paused}, {"b", paused}}, spec.job.customer) ==
        Answers{Outcome::done, Outcome::done});
}

TEST_CASE("what is being stored for one customer leaves the others their memory") {
  Fixture fixture;
  const auto large_of = [&](const std::string& customer) {
    auto spec = every(fixture, minute);
    spec.job.customer = customer;
    spec.job.parameters.assign(10'000, ' ');
    return spec;
  };
  Desk desk{fixture, {}, {.bytes = bytes_for_two(large_of("acme"))}};
  const auto put = [&](const std::string& name, const std::string& customer) {
    return fixture.self()->request(desk.handle(), caf::infinite,
                                   PutSchedule{name, large_of(customer), customer});
  };
  fixture.commit_delay = milliseconds{5000};
  auto first = put("a", "acme");
  auto second = put("b", "acme");
  auto other = put("c", "bolt");
  fixture.run_all();
  fixture.commit_delay = milliseconds{0};
  fixture.pass(milliseconds{5000});
  for (auto* each : {&first, &second, &other}) {
    each->receive([](const ScheduleAnswered& answer) { CHECK(answer.outcome == Outcome::added); },
                  [](const caf::error&) { FAIL("the desk failed"); });
  }
  CHECK(desk.put("d", large_of("acme"), "acme").outcome == Outcome::too_many);
}

TEST_CASE("schedules take no more memory than the limit allows, counting those being stored") {
  Fixture fixture;
  const auto large = [&](std::size_t bytes) {
    auto spec = every(fixture, minute);
    spec.job.parameters.assign(bytes, ' ');
    return spec;
  };
  Schedule sample;
  sample.spec = large(10'000);
  const auto bytes = approximate_bytes(sample);
  Desk desk{fixture, {}, {.bytes = 3 * bytes + 1000}};
  desk.put("a", large(10'000));
  CHECK(put_at_once(fixture, desk, {{"b", large(10'000)}, {"a", large(11'000)}}) ==
        Answers{Outcome::added, Outcome::done});
  CHECK(put_at_once(fixture, desk, {{"c", large(9'000)}, {"b", large(12'000)}}) ==
        Answers{Outcome::added, Outcome::too_many});
  CHECK(put_at_once(fixture, desk, {{"a", large(12'000)}, {"b", large(10'001)}}) ==
        Answers{Outcome::done, Outcome::too_many});
  CHECK(desk.put("a", large(12'001)).outcome == Outcome::too_many);
  CHECK(desk.put("a", large(12'000)).outcome == Outcome::done);
  CHECK(desk.ask<ScheduleAnswered>(DeleteSchedule{"b", {}}).outcome == Outcome::done);
  CHECK(desk.put("d", large(10'001)).outcome == Outcome::too_many);
  CHECK(desk.put("d", large(10'000)).outcome == Outcome::added);
}

TEST_CASE("a deleted schedule fires nothing more") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("s", every(fixture, minute));
  CHECK(desk.ask<ScheduleAnswered>(DeleteSchedule{"s", {}}).outcome == Outcome::done);
  CHECK(desk.ask<ScheduleAnswered>(DeleteSchedule{"s", {}}).outcome == Outcome::not_found);
  CHECK_FALSE(desk.find("s"));
  fixture.pass(2 * minute);
  desk.crash_and_restart();
  fixture.pass(minute);
  CHECK(jobs(fixture) == 0);
}

TEST_CASE("a client that is bound to a customer sees and changes only that customer's schedules") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("acme", every(fixture, minute));
  auto of_bolt = every(fixture, minute);
  of_bolt.job.customer = "bolt";
  desk.put("bolt", of_bolt);
  CHECK(desk.put("bolt", every(fixture, minute), "acme").outcome == Outcome::not_found);
  CHECK(desk.put("acme", every(fixture, minute), "acme").outcome == Outcome::done);
  CHECK(desk.ask<ScheduleAnswered>(DeleteSchedule{"bolt", "acme"}).outcome == Outcome::not_found);
  CHECK_FALSE(desk.ask<ScheduleDescribed>(DescribeSchedule{"bolt", "acme"}).schedule);
  CHECK(desk.ask<SchedulesListed>(ListSchedules{{}, 10, "acme"}).schedules.size() == 1);
  CHECK_FALSE(desk.ask<SchedulesListed>(ListSchedules{{}, 1, "acme"}).more);
  CHECK(desk.find("bolt"));
  desk.configure({{"configured", of_bolt}});
  CHECK(desk.put("configured", every(fixture, minute), "acme").outcome == Outcome::not_found);
  CHECK(desk.ask<ScheduleAnswered>(DeleteSchedule{"configured", "acme"}).outcome ==
        Outcome::not_found);
}

TEST_CASE("schedules are listed page by page") {
  Fixture fixture;
  Desk desk{fixture};
  for (const auto* name : {"c", "a", "b"}) desk.put(name, every(fixture, minute));
  const auto first = desk.ask<SchedulesListed>(ListSchedules{{}, 2});
  REQUIRE(first.schedules.size() == 2);
  CHECK(first.schedules[1].name == "b");
  CHECK(first.more);
  const auto second = desk.ask<SchedulesListed>(ListSchedules{"b", 2});
  CHECK(second.schedules.size() == 1);
  CHECK_FALSE(second.more);
  CHECK(desk.ask<SchedulesListed>(ListSchedules{{}, 3, {}, 1}).schedules.size() == 1);
}

TEST_CASE("the configuration adds, changes and removes its schedules, and alone may") {
  Fixture fixture;
  Desk desk{fixture, {{"kept", every(fixture, minute)}, {"gone", every(fixture, minute)}}};
  desk.put("own", every(fixture, minute));
  CHECK(desk.find("kept")->configured);
  CHECK(desk.put("kept", every(fixture, minute)).outcome == Outcome::configured);
  CHECK(desk.ask<ScheduleAnswered>(DeleteSchedule{"kept", {}}).outcome == Outcome::configured);
  fixture.pass(minute);
  CHECK(jobs(fixture) == 3);
  desk.crash_and_restart({{"kept", every(fixture, minute)}, {"new", every(fixture, 2 * minute)}});
  CHECK(desk.progress("kept").fired == 1);  // Unchanged, so it goes on.
  CHECK_FALSE(desk.find("gone"));
  CHECK_FALSE(desk.find("own")->configured);
  desk.configure({{"own", every(fixture, 3 * minute)}});
  CHECK(desk.find("own")->configured);
  CHECK(desk.progress("own").next == fixture.wall + 3 * minute);
  CHECK_FALSE(desk.find("kept"));
  desk.configure({});
  CHECK(desk.ask<SchedulesListed>(ListSchedules{}).schedules.empty());
  fixture.pass(10 * minute);
  CHECK(jobs(fixture) == 3);
}

TEST_CASE("the configuration takes over a schedule of a client, even one with the same terms") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("s", every(fixture, minute));
  desk.configure({{"s", every(fixture, minute)}});
  CHECK(desk.find("s")->configured);
}

TEST_CASE("a time that passed before a reload, while celld ran, is not missed") {
  Fixture fixture;
  Desk desk{fixture};
  auto spec = every(fixture, minute);
  spec.catch_up = CatchUp::none;
  desk.put("s", spec);
  fixture.wall += minute + milliseconds{5000};  // Not noticed yet.
  desk.configure({});
  CHECK(jobs(fixture) == 1);
  CHECK(desk.progress("s").missed == 0);
}

TEST_CASE("a stored schedule with an unknown time zone is shown, and does not fire") {
  Fixture fixture;
  Schedule stored{"mars", 1, false, every(fixture, milliseconds{0}), {}};
  stored.spec.timing = {milliseconds{0}, "* * * * *", "Mars/Base"};
  stored.progress.next = fixture.wall + minute;
  fixture.self()->send(fixture.store(), SaveSchedule{stored});
  fixture.run_all();
  fixture.self()->receive([](const ScheduleSaved&) {});
  Desk desk{fixture};
  fixture.pass(10 * minute);
  CHECK(desk.find("mars"));
  CHECK(jobs(fixture) == 0);
  CHECK(desk.outcomes->without_zone == std::vector<std::string>{"mars"});
}

TEST_CASE("a daemon that shuts down leaves what is due to the next start") {
  Fixture fixture;
  Desk desk{fixture};
  auto spec = every(fixture, minute);
  spec.catch_up = CatchUp::all;
  desk.put("s", spec);
  caf::anon_send(desk.handle(), StopFiring{});
  for (int i = 0; i < 130; ++i) fixture.pass(milliseconds{1000});
  CHECK(desk.progress("s").missed == 0);
  CHECK(jobs(fixture) == 0);
  desk.crash_and_restart();
  fixture.pass(milliseconds{1000});
  CHECK(desk.progress("s").fired == 2);
}

TEST_CASE("a stop during the look-up of a last job leaves its schedule free") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("s", every(fixture, minute, Overlap::skip));
  fixture.pass(minute);
  fixture.wall += minute;
  fixture.scheduler().advance_time(minute);     // Now it looks the job up,
  caf::anon_send(desk.handle(), StopFiring{});  // and is stopped before the answer.
  fixture.run_all();
  CHECK(desk.progress("s").skipped == 0);
  CHECK(desk.ask<ScheduleAnswered>(DeleteSchedule{"s", {}}).outcome == Outcome::done);
}

TEST_CASE("requests for one schedule are handled one after the other") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("s", every(fixture, minute));
  fixture.commit_delay = milliseconds{5000};
  fixture.pass(minute);  // The firing waits for its commit.
  CHECK(jobs(fixture) == 0);
  fixture.commit_delay = milliseconds{0};
  auto removal = fixture.self()->request(desk.handle(), caf::infinite, DeleteSchedule{"s", {}});
  fixture.run_all();
  fixture.pass(milliseconds{5000});
  removal.receive(
      [&](const ScheduleAnswered& answer) {
        CHECK(answer.outcome == Outcome::done);
        CHECK(answer.schedule->progress.fired == 1);
      },
      [](const caf::error&) { FAIL("the desk failed"); });
  CHECK(jobs(fixture) == 1);
}

TEST_CASE("after the dispatcher of a cell dies, a firing is neither lost nor repeated") {
  Fixture fixture;
  Desk desk{fixture};
  desk.put("s", every(fixture, minute));
  fixture.commit_delay = milliseconds{500};
  fixture.pass(minute);  // The job is on its way to the disk.
  fixture.commit_delay = milliseconds{0};
  const auto dispatcher =
      caf::actor_cast<caf::strong_actor_ptr>(fixture.recorder->dispatchers.back());
  caf::anon_send_exit(caf::actor_cast<caf::actor>(dispatcher), caf::exit_reason::kill);
  for (int i = 0; i < 5; ++i) fixture.pass(milliseconds{1000});
  CHECK(jobs(fixture) == 1);
  CHECK(desk.progress("s").fired == 1);
}
