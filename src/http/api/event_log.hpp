// The latest changes of jobs, so that a client that was away for a moment misses nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "cells/model/job.hpp"

namespace celld::api {

/// Changes are numbered from 1 in the order they were told; the latest are kept, up to both limits.
class EventLog {
 public:
  struct Limits {
    std::size_t events_max = 16'384;
    std::size_t bytes_max = 8 << 20;  ///< Of approximate_bytes, which jobs share with the engine.
  };
  struct Event {
    std::uint64_t number = 0;
    cells::JobPtr job;
  };

  /// `run` tells this run of celld from all others: the ids of one mean nothing to another.
  explicit EventLog(std::string run) : EventLog(std::move(run), Limits{}) {}
  EventLog(std::string run, Limits limits) : run_(std::move(run)), limits_(limits) {}

  const Event& add(cells::JobPtr job);
  /// Forgets all events: whoever names one of them has missed some.
  void forget();

  /// The id of an event as clients see it; 0 stands before the first.
  std::string id_of(std::uint64_t number) const;
  /// The same position, of somebody who has been shown the end of a job, which may be no event
  /// here.
  std::string id_of_end(std::uint64_t number) const { return id_of(number) + end_mark; }
  static bool is_of_end(std::string_view id) { return id.ends_with(end_mark); }
  std::uint64_t last() const { return last_; }

  /// The number that an id stands for, if every later event is still here.
  std::optional<std::uint64_t> position(std::string_view id) const;
  /// Every event after this one is still here.
  bool has_all_after(std::uint64_t number) const;
  /// The events that are still here, oldest first, their numbers without a gap.
  const std::deque<Event>& events() const { return events_; }

 private:
  static constexpr char end_mark = 'e';

  const std::string run_;
  const Limits limits_;
  std::deque<Event> events_;
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace celld::api
