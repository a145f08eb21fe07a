// Workers of a peer: each is a thread with a blocking connection of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/bench/peers/threaded_peer.hpp"

namespace celld::bench {

/// A worker's connection.
class Worker {
 public:
  Worker() = default;
  virtual ~Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Takes a job, or several if its purpose is Purpose::pull_many. Returns how many; none if none
  /// came within about a second. Throws.
  virtual std::size_t take() = 0;
  /// Ends the jobs that were taken, and returns when the server has acknowledged that. Throws.
  virtual void end() = 0;
};

class WorkerThreads : public Workers {
 public:
  explicit WorkerThreads(std::vector<std::unique_ptr<Worker>> workers);
  ~WorkerThreads() override;

  Clock::time_point await_taken(std::size_t nth) override;
  Clock::time_point await_ended(std::size_t count) override;

 private:
  /// Of one kind of event. Wakes a waiting thread only for the event that it waits for.
  struct Events {
    std::vector<Clock::time_point> times;
    std::size_t awaited = 0;
  };
  void run(Worker& worker);
  void note(Events& events, std::size_t count);
  Clock::time_point await(Events& events, std::size_t nth, std::chrono::seconds timeout);

  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  Events taken_;
  Events ended_;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

/// `count` workers, each made by `make()`.
template <class Make>
std::unique_ptr<Workers> worker_threads(std::size_t count, Make make) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::size_t i = 0; i < count; ++i) workers.push_back(make());
  return std::make_unique<WorkerThreads>(std::move(workers));
}

}  // namespace celld::bench
