// Submits the jobs of schedules when they are due.
#pragma once

#include <functional>
#include <memory>

#include "cells/actors/engine_context.hpp"
#include "cells/actors/schedules.hpp"

namespace cells {

struct ScheduleDeskOptions {
  JobStore store;
  JobReader reader;  ///< Tells whether a schedule's last job has ended.
  CellDispatcher dispatcher;
  std::function<WallTime()> wall_clock;
  std::shared_ptr<const TimeZones> zones;
  std::shared_ptr<EngineProbe> probe = std::make_shared<EngineProbe>();
  std::size_t firings_max = 64;  ///< Submissions at the same time; the others wait for their turn.
  std::size_t page_size = 100;   ///< Schedules that are loaded at a time.
  std::size_t schedules_max = cells::schedules_max;  ///< Clients may add no more than these.
  std::size_t bytes_max = schedules_bytes_max;       ///< Of all schedules.
};

/// Begins with the stored schedules; none fires before the first ConfigureSchedules. The actor ends
/// when the store fails.
ScheduleDesk spawn_schedule_desk(caf::actor_system& system, ScheduleDeskOptions options);

}  // namespace cells
