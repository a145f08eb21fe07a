#include "tests/bench/peers/worker_threads.hpp"

#include <stdexcept>
#include <string>

namespace celld::bench {
namespace {

constexpr std::chrono::seconds take_timeout{30};
constexpr std::chrono::seconds end_timeout{120};

}  // namespace

WorkerThreads::WorkerThreads(std::vector<std::unique_ptr<Worker>> workers)
    : workers_(std::move(workers)) {
  for (const auto& worker : workers_) threads_.emplace_back([this, &worker] { run(*worker); });
}

WorkerThreads::~WorkerThreads() {
  stopping_ = true;
  for (auto& thread : threads_) thread.join();
}

Clock::time_point WorkerThreads::await_taken(std::size_t nth) {
  return await(taken_, nth, take_timeout);
}

Clock::time_point WorkerThreads::await_ended(std::size_t count) {
  return await(ended_, count, end_timeout);
}

void WorkerThreads::run(Worker& worker) {
  try {
    while (!stopping_) {
      const auto count = worker.take();
      if (count == 0) continue;
      note(taken_, count);
      worker.end();
      note(ended_, count);
    }
  } catch (...) {
    const std::lock_guard lock{mutex_};
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

void WorkerThreads::note(Events& events, std::size_t count) {
  const auto now = Clock::now();
  const std::lock_guard lock{mutex_};
  const bool was_awaited = events.times.size() < events.awaited;
  events.times.insert(events.times.end(), count, now);
  if (was_awaited && events.times.size() >= events.awaited) changed_.notify_all();
}

Clock::time_point WorkerThreads::await(Events& events, std::size_t nth,
                                       std::chrono::seconds timeout) {
  std::unique_lock lock{mutex_};
  events.awaited = nth;
  const bool came = changed_.wait_for(
      lock, timeout, [&] { return events.times.size() >= nth || failure_ != nullptr; });
  if (failure_) std::rethrow_exception(failure_);
  if (!came) {
    throw std::runtime_error("the workers had " + std::to_string(events.times.size()) + " of " +
                             std::to_string(nth) + " jobs");
  }
  return nth == 0 ? Clock::now() : events.times[nth - 1];
}

}  // namespace celld::bench
