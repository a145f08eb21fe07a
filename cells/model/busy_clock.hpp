// A clock that stands still while a cell has nothing to run.
#pragma once

#include <cstdint>

#include "cells/model/job.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// The clock for measuring how fast the jobs of a cell end: a cell that had no jobs for a day is
/// not slow. Jobs that are not due yet do not make the cell busy, unless they fill its queue: then
/// no other job has room until some of them have ended.
class BusyClock {
 public:
  void count(const JobCounts& jobs, std::uint64_t jobs_max, SteadyTime now) {
    const auto unfinished = jobs.unfinished();
    const bool is_busy = unfinished > jobs[JobState::scheduled] || unfinished >= jobs_max;
    if (is_busy && !is_busy_) idle_ += now - idle_since_;
    if (!is_busy && is_busy_) idle_since_ = now;
    is_busy_ = is_busy;
  }
  SteadyTime at(SteadyTime now) const { return (is_busy_ ? now : idle_since_) - idle_; }

 private:
  bool is_busy_ = true;
  SteadyTime idle_since_{};  ///< While the cell is not busy.
  microseconds idle_{0};     ///< The sum of the idle times that are over.
};

}  // namespace cells
