// Clients that wait for the end of a job (`Prefer: wait`). Pure: time is an argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cells/model/job.hpp"
#include "src/http/server.hpp"

namespace celld::api {

struct Waiter {
  cells::JobPtr job;  ///< The latest known version.
  http::Responder responder;
  std::chrono::seconds wait{};  ///< As granted.
  bool replayed = false;        ///< The job was submitted before, under the same idempotency key.
};

class Waiters {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// The size of all these jobs together, each in its latest version. While only one client waits,
  /// its job may have any size.
  static constexpr std::size_t bytes_max = 32 << 20;

  /// Whether another client may wait, for this job.
  bool has_room_for(const cells::Job& job) const;
  void add(Waiter waiter, Time deadline);

  /// Notes the job's new version. Removes and returns its waiters if the job has ended, or if
  /// the jobs now exceed `bytes_max`; then their `wait` is 0.
  std::vector<Waiter> changed(const cells::JobPtr& job);

  /// The jobs that have waiters.
  std::set<cells::JobId> jobs() const;

  /// Removes and returns the waiters whose deadline is at or before `now`.
  std::vector<Waiter> take_expired(Time now);
  std::vector<Waiter> take_all();

  /// Forgets waiters whose client has disconnected. Of those whose client has closed its sending
  /// side, as most clients do that give up, removes and returns all but the `keep` with the latest
  /// jobs; their `wait` is 0.
  std::vector<Waiter> take_gone(std::size_t keep);

  /// The earliest deadline.
  std::optional<Time> next_deadline() const;
  std::size_t size() const { return waiting_.size(); }

 private:
  struct Entry {
    Waiter waiter;
    Time deadline;
    std::uint64_t number;
    std::size_t bytes;
  };
  /// A job has several waiters only if it was submitted again.
  using Map = std::multimap<cells::JobId, Entry>;

  Waiter take(Map::iterator entry);

  Map waiting_;
  std::map<std::pair<Time, std::uint64_t>, Map::iterator> deadlines_;
  std::uint64_t number_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace celld::api
