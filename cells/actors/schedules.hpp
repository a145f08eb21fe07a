// The messages about schedules. Schedule names, specs and due times: cells/model/schedule.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cells/actors/protocol.hpp"
#include "cells/model/schedule.hpp"

namespace cells {

// --- From the API to the schedule desk -----------------------------------------------------------
//
// With a `customer`, a request sees and changes only schedules whose jobs are that customer's.

/// Add a schedule, or change the one of this name; answered once the change is on disk.
struct PutSchedule {
  std::string name;
  ScheduleSpec spec{};
  std::optional<std::string> customer{};
};
/// Remove a schedule; answered once the change is on disk. Its jobs stay.
struct DeleteSchedule {
  std::string name;
  std::optional<std::string> customer{};
};
struct ScheduleAnswered {
  enum class Outcome : std::uint8_t {
    done,
    added,
    not_found,   ///< There is none, or the client may not see it.
    configured,  ///< It comes from the configuration, which alone can change it.
    too_many,    ///< The limit on the number of schedules, or on their bytes, is reached.
  };
  Outcome outcome = Outcome::done;
  std::optional<Schedule> schedule{};  ///< As it is now, or as it was before it was removed.
};

/// Report one schedule, or its absence.
struct DescribeSchedule {
  std::string name;
  std::optional<std::string> customer{};
};
struct ScheduleDescribed {
  std::optional<Schedule> schedule{};
};

/// Report the schedules after this name, in order of their names.
struct ListSchedules {
  std::optional<std::string> after{};
  std::size_t limit = 50;
  std::optional<std::string> customer{};
  std::size_t bytes_max = 8 << 20;  ///< By approximate_bytes; one schedule is always listed.
};
struct SchedulesListed {
  std::vector<Schedule> schedules{};
  bool more = false;
};

/// Adopt these schedules of the configuration, and remove the others that came from it. Replaces
/// schedules of the same names that came over the API. Answered once the changes are on disk.
struct ConfigureSchedules {
  std::map<std::string, ScheduleSpec> schedules{};
};
struct SchedulesConfigured {};

/// The daemon shuts down: submit nothing more. What is due stays due for the next start.
struct StopFiring {};

}  // namespace cells

CELLS_MESSAGE(PutSchedule)
CELLS_MESSAGE(DeleteSchedule)
CELLS_MESSAGE(ScheduleAnswered)
CELLS_MESSAGE(DescribeSchedule)
CELLS_MESSAGE(ScheduleDescribed)
CELLS_MESSAGE(ListSchedules)
CELLS_MESSAGE(SchedulesListed)
CELLS_MESSAGE(ConfigureSchedules)
CELLS_MESSAGE(SchedulesConfigured)
CELLS_MESSAGE(StopFiring)

namespace cells {

/// Owns all schedules: submits their jobs when they are due. One per daemon; the store has
/// everything that it needs to continue after a restart.
using ScheduleDesk = caf::typed_actor<
    /// Changes one schedule, once any firing or change of it in progress has ended.
    caf::replies_to<PutSchedule>::with<ScheduleAnswered>,
    /// Removes one schedule, once any firing or change of it in progress has ended.
    caf::replies_to<DeleteSchedule>::with<ScheduleAnswered>,
    /// Reports what is in memory, which is what is stored.
    caf::replies_to<DescribeSchedule>::with<ScheduleDescribed>,
    /// Reports what is in memory, which is what is stored.
    caf::replies_to<ListSchedules>::with<SchedulesListed>,
    /// Changes each schedule, once any firing or change of it in progress has ended.
    caf::replies_to<ConfigureSchedules>::with<SchedulesConfigured>,
    /// Submits no more jobs, but keeps answering requests.
    caf::reacts_to<StopFiring>,
    /// Fires, skips or misses the due times that have come.
    caf::reacts_to<Tick>>;

}  // namespace cells
