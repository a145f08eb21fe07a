// Clients that wait for the end of a batch (`Prefer: wait`). Pure: time is an argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cells/ports/job_store.hpp"
#include "src/http/server.hpp"

namespace celld::api {

struct BatchWaiter {
  cells::BatchId id = 0;
  http::Responder responder;
  std::string report;  ///< The body of the answer, held until then.
  std::optional<std::chrono::milliseconds> retry_after{};  ///< When to send the rest.
  std::chrono::seconds wait{};                             ///< As granted.
  std::chrono::steady_clock::time_point deadline{};
};

/// In the order in which they came. For one thread.
class BatchWaiters {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `bytes_max` bounds the reports of all of them together.
  BatchWaiters(std::size_t waiters_max, std::size_t bytes_max)
      : waiters_max_(waiters_max), bytes_max_(bytes_max) {}

  /// Whether another client may wait, with this report.
  bool has_room_for(const std::string& report) const;
  void add(BatchWaiter waiter);

  /// The batch that a client waits for; `index` is below `size`.
  cells::BatchId batch_at(std::size_t index) const { return waiters_[index].id; }
  std::size_t size() const { return waiters_.size(); }

  /// Removes and returns the first waiter of this batch. None: the batch has no waiters.
  std::optional<BatchWaiter> take(cells::BatchId id);
  /// Removes and returns the waiters whose deadline is at or before `now`.
  std::vector<BatchWaiter> take_expired(Time now);
  std::vector<BatchWaiter> take_all();

  /// Forgets waiters whose client has disconnected.
  void drop_gone();
  /// Removes and returns the waiters whose client has closed its sending side: most have gone.
  std::vector<BatchWaiter> take_half_closed();

 private:
  /// Removes the waiters for which `is_over` holds, and returns them.
  template <class Condition>
  std::vector<BatchWaiter> take_if(const Condition& is_over);

  const std::size_t waiters_max_;
  const std::size_t bytes_max_;
  std::vector<BatchWaiter> waiters_;
  std::size_t bytes_ = 0;  ///< Of their reports.
};

}  // namespace celld::api
