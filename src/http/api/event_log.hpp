// The latest changes of jobs, so that a client that reconnects soon misses none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "cells/model/job.hpp"

namespace celld::api {

/// Numbers changes from 1 in order of arrival, and keeps the latest, up to both limits.
class EventLog {
 public:
  struct Limits {
    std::size_t events_max = 16'384;
    std::size_t bytes_max = 8 << 20;  ///< By approximate_bytes; the engine shares these jobs.
  };
  struct Event {
    std::uint64_t number = 0;
    cells::JobPtr job;
  };

  /// `run` identifies this run of celld: event ids of another run are not valid in it.
  explicit EventLog(std::string run) : EventLog(std::move(run), Limits{}) {}
  EventLog(std::string run, Limits limits) : run_(std::move(run)), limits_(limits) {}

  const Event& add(cells::JobPtr job);
  /// Forgets all events: a client that resumes at one of them has missed changes.
  void forget();

  /// The id of an event as clients see it; number 0 is the position before the first event.
  std::string id_of(std::uint64_t number) const;
  /// The same position, for a client that has seen the end of a job. The end itself need not be an
  /// event in this log.
  std::string id_of_end(std::uint64_t number) const { return id_of(number) + end_mark; }
  static bool is_of_end(std::string_view id) { return id.ends_with(end_mark); }
  std::uint64_t last() const { return last_; }

  /// The number of an id, if every later event is still in the log.
  std::optional<std::uint64_t> position(std::string_view id) const;
  /// Whether every event after this one is still in the log.
  bool has_all_after(std::uint64_t number) const;
  /// The events in the log, oldest first, with consecutive numbers.
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
