// The schedules of a run, and celld's own schedule desk (cells/actors/schedule_desk.hpp).
#include <utility>

#include "cells/actors/owed_answers.hpp"
#include "cells/actors/schedule_desk.hpp"
#include "tests/torture/simulation/actors.hpp"

namespace simulation {
namespace {

/// The schedules of a run have intervals; the model's tests have the cron rules.
class NoZones final : public TimeZones {
 public:
  std::shared_ptr<const TimeZone> find(std::string_view) const override { return nullptr; }
};

/// Puts the schedules over the API or by the configuration, and stands between the desk and the
/// engine, so that the world knows of the submissions.
class SchedulesActor : public caf::event_based_actor {
 public:
  SchedulesActor(caf::actor_config& config, std::shared_ptr<World> world, BatchEngine engine,
                 const std::vector<SchedulePlan>& plans)
      : event_based_actor(config),
        world_(std::move(world)),
        engine_(std::move(engine)),
        plans_(plans) {}

  caf::behavior make_behavior() override {
    desk_ = spawn_schedule_desk(
        system(), {engine_.store, engine_.reader,
                   caf::actor_cast<CellDispatcher>(caf::actor_cast<caf::actor>(this)),
                   [world = world_] { return world->now_wall; }, std::make_shared<NoZones>(),
                   world_, engine_.firings_max, engine_.schedules_loaded_max});
    configure(false);
    return {
        [this](const SubmitJob& message) { return submit(message); },
        [this](const SchedulesStop&) { stop(); },
        [this](const DaemonStops&) { caf::anon_send(desk_, StopFiring{}); },
    };
  }

  void on_exit() override {
    owed_.fail();
    if (desk_) caf::anon_send_exit(desk_, caf::exit_reason::kill);
    desk_ = nullptr;
    engine_ = {};
  }

 private:
  void configure(bool stops) {
    ConfigureSchedules order;
    for (const auto& plan : plans_) {
      if (plan.configured && !stops) order.schedules.emplace(plan.name, plan.spec);
    }
    request(desk_, caf::infinite, std::move(order))
        .then(
            [this, stops](const SchedulesConfigured&) {
              for (const auto& plan : plans_) {
                if (!plan.configured && !stops) put_if_absent(plan);
              }
            },
            [](const caf::error&) {});
  }

  void put_if_absent(const SchedulePlan& plan) {
    request(desk_, caf::infinite, DescribeSchedule{plan.name, {}})
        .then(
            [this, plan](const ScheduleDescribed& found) {
              if (!found.schedule && !stopped_)
                caf::anon_send(desk_, PutSchedule{plan.name, plan.spec, {}});
            },
            [](const caf::error&) {});
  }

  void stop() {
    stopped_ = true;
    configure(true);
    for (const auto& plan : plans_) {
      if (!plan.configured) caf::anon_send(desk_, DeleteSchedule{plan.name, {}});
    }
  }

  caf::result<JobSubmitted> submit(const SubmitJob& message) {
    const auto number = world_->submission_asked(message.request);
    const std::string name = message.request.firing->schedule;
    auto promise = make_response_promise<JobSubmitted>();
    const auto owed = owed_.add(promise);
    request(engine_.dispatcher, caf::infinite, message)
        .then(
            [this, number, owed, name](const JobSubmitted& answer) {
              world_->firing_answered(number, name, answer);
              owed_.deliver(owed, answer);
            },
            [this, number, owed, name](caf::error& error) {
              world_->firing_failed(number, name);
              owed_.deliver(owed, std::move(error));
            });
    return promise;
  }

  std::shared_ptr<World> world_;
  BatchEngine engine_;
  const std::vector<SchedulePlan> plans_;
  ScheduleDesk desk_;
  OpenPromises owed_;
  bool stopped_ = false;
};

}  // namespace

caf::actor spawn_schedules(caf::actor_system& system, std::shared_ptr<World> world,
                           BatchEngine engine, const std::vector<SchedulePlan>& plans) {
  return system.spawn<SchedulesActor>(std::move(world), std::move(engine), plans);
}

}  // namespace simulation
