#include "tests/bench/peers/threaded_peer.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <latch>
#include <mutex>
#include <thread>

#include "tests/bench/daemon.hpp"
#include "tests/bench/report.hpp"

namespace celld::bench {
namespace {

/// Jobs of measure_many for each second that its load should take.
constexpr double many_jobs_per_s = 30'000;

/// Submits over the connection of each producer for `seconds`.
class ThreadedLoad {
 public:
  ThreadedLoad(std::vector<std::unique_ptr<Producer>> producers, double seconds)
      : producers_(std::move(producers)),
        ready_(static_cast<std::ptrdiff_t>(producers_.size()) + 1),
        duration_(
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  LoadResult run() {
    std::vector<std::thread> threads;
    for (const auto& producer : producers_) {
      threads.emplace_back([this, &producer] { submit_all(*producer); });
    }
    begin_ = Clock::now();
    ready_.arrive_and_wait();
    for (auto& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    result_.requests = result_.latencies_us.size();
    result_.seconds = std::chrono::duration<double>(end_ - begin_).count();
    return std::move(result_);
  }

  Clock::time_point begin() const { return begin_; }

 private:
  void submit_all(Producer& producer) {
    std::vector<double> latencies_us;
    std::exception_ptr failure;
    ready_.arrive_and_wait();
    const auto deadline = begin_ + duration_;
    auto now = Clock::now();
    try {
      while (now < deadline) {
        producer.submit();
        const auto answered = Clock::now();
        latencies_us.push_back(std::chrono::duration<double, std::micro>(answered - now).count());
        now = answered;
      }
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock{mutex_};
    if (failure) failure_ = failure;
    end_ = std::max(end_, now);
    auto& all = result_.latencies_us;
    all.insert(all.end(), latencies_us.begin(), latencies_us.end());
  }

  const std::vector<std::unique_ptr<Producer>> producers_;
  std::latch ready_;
  const Clock::duration duration_;
  Clock::time_point begin_;
  std::mutex mutex_;
  Clock::time_point end_;
  LoadResult result_;
  std::exception_ptr failure_;
};

}  // namespace

std::vector<std::unique_ptr<Producer>> ThreadedPeer::producers(Purpose purpose, std::size_t count) {
  std::vector<std::unique_ptr<Producer>> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(producer(purpose, ++seed_));
  return all;
}

double ThreadedPeer::measure_idle(double seconds) {
  const auto worker = workers(Purpose::notice, 1);
  const auto submitter = producer(Purpose::notice, ++seed_);
  Ticker ticker{idle_interval_ms};
  const auto jobs = std::max(1.0, seconds * 1000 / idle_interval_ms);
  std::vector<double> times_us;
  for (std::size_t i = 1; i <= static_cast<std::size_t>(jobs); ++i) {
    ticker.await_tick();
    const auto begin = Clock::now();
    submitter->submit();
    const auto taken = worker->await_taken(i);
    times_us.push_back(std::chrono::duration<double, std::micro>(taken - begin).count());
  }
  worker->await_ended(times_us.size());
  return percentile(times_us, 0.5);
}

double ThreadedPeer::measure_lives(std::size_t connections, double seconds) {
  ThreadedLoad load{producers(Purpose::run, connections), seconds};
  const auto all = workers(Purpose::run, workers_in_load);
  const auto result = load.run();
  const auto ended = all->await_ended(result.requests);
  const std::chrono::duration<double> until_ended = ended - load.begin();
  return std::min(result.rate(), static_cast<double>(result.requests) / until_ended.count());
}

/// From the first job that is taken, so that it does not matter how long a connection takes.
double ThreadedPeer::end_rate(Purpose purpose, std::size_t jobs) {
  const auto all = workers(purpose, workers_in_load);
  const auto first_taken = all->await_taken(1);
  const std::chrono::duration<double> seconds = all->await_ended(jobs) - first_taken;
  return static_cast<double>(jobs) / seconds.count();
}

std::optional<double> ThreadedPeer::measure_queued(double seconds) {
  const auto load = ThreadedLoad{producers(Purpose::pull, 4 * workers_in_load), seconds}.run();
  return end_rate(Purpose::pull, load.requests);
}

std::optional<ManyFigures> ThreadedPeer::measure_many(double seconds) {
  const auto jobs = static_cast<std::size_t>(std::ceil(seconds * many_jobs_per_s));
  const auto submitter = producer(Purpose::pull_many, ++seed_);
  const auto begin = Clock::now();
  if (!submitter->submit_many(jobs)) return std::nullopt;
  const std::chrono::duration<double> submitting = Clock::now() - begin;
  return ManyFigures{static_cast<double>(jobs) / submitting.count(),
                     end_rate(Purpose::pull_many, jobs)};
}

KeptFigures ThreadedPeer::measure_kept(std::size_t connections, double seconds) {
  const auto result = ThreadedLoad{producers(Purpose::keep, connections), seconds}.run();
  return {result.rate(), percentile(result.latencies_us, 0.5)};
}

}  // namespace celld::bench
