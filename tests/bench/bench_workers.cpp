// Workers outside the daemon: how fast they lease and end jobs, how soon a waiting one gets a
// new job, and what waiting ones cost.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "tests/bench/daemon.hpp"
#include "tests/bench/http_wire.hpp"
#include "tests/bench/leases.hpp"
#include "tests/bench/load.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace celld::bench;

constexpr int answer_timeout_ms = 30'000;
constexpr std::uint32_t pool_size = 10'000;

struct Plan {
  std::size_t workers = 16;
  std::size_t jobs = 50'000;
  std::size_t jobs_at_once = 100;
  std::size_t waiting = 5'000;
  std::size_t wake_ups = 500;
};

/// Workers that lease and complete jobs, all on the calling thread.
class Workers {
 public:
  Workers(std::uint16_t port, std::size_t count, std::size_t at_once)
      : poll_(::epoll_create1(EPOLL_CLOEXEC)), workers_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      workers_[i].socket = connect_to(port);
      workers_[i].ask = lease_request(service_name, "worker-" + std::to_string(i), at_once, 1'000);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, workers_[i].socket.get(), &event);
    }
  }

  /// Returns once `jobs` jobs have been completed.
  void run(std::size_t jobs) {
    for (auto& worker : workers_) send_whole(worker.socket.get(), worker.ask);
    while (completed_ < jobs) {
      std::array<epoll_event, 64> events;
      const int count = ::epoll_wait(poll_.get(), events.data(), events.size(), answer_timeout_ms);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw std::runtime_error("no answer arrived");
      for (int i = 0; i < count; ++i) take_answer(workers_[events[i].data.u64]);
    }
  }

 private:
  struct Worker {
    Descriptor socket;
    MessageReader reader;
    std::string ask;
    std::size_t reporting = 0;  ///< Jobs in the report that awaits its answer.
  };

  void take_answer(Worker& worker) {
    if (!worker.reader.fill(worker.socket.get())) {
      throw std::runtime_error("celld closed a connection");
    }
    const auto answer = worker.reader.next();
    if (!answer) return;
    if (answer->status() != 200) {
      throw std::runtime_error("unexpected answer: " + std::string(answer->head) + "\n" +
                               std::string(answer->body));
    }
    if (worker.reporting > 0) {
      completed_ += std::exchange(worker.reporting, 0);
      return send_whole(worker.socket.get(), worker.ask);
    }
    const auto leases = leases_of(answer->body);
    worker.reporting = leases.size();
    send_whole(worker.socket.get(), leases.empty() ? worker.ask : completion(leases));
  }

  const Descriptor poll_;
  std::vector<Worker> workers_;
  std::size_t completed_ = 0;
};

void measure_rate(const Daemon& daemon, JobRequests& jobs, const Plan& plan, std::size_t at_once,
                  const std::string& name, Report& report) {
  submit_batch(daemon.port(), jobs, plan.jobs);
  Workers workers{daemon.port(), plan.workers, at_once};
  const auto cpu = daemon.cpu_seconds();
  const auto switches = daemon.voluntary_switches();
  const auto begin = Clock::now();
  workers.run(plan.jobs);
  const auto count = static_cast<double>(plan.jobs);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  report.add(name + ": jobs leased and completed", "/s", count / seconds);
  report.add(name + ": CPU of celld per job", "us", (daemon.cpu_seconds() - cpu) / count * 1e6);
  report.add(name + ": voluntary switches per job", "",
             (daemon.voluntary_switches() - switches) / count);
}

/// Workers that each wait for one job.
class WaitingWorkers {
 public:
  WaitingWorkers(std::uint16_t port, std::size_t count) : poll_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (std::size_t i = 0; i < count; ++i) {
      sockets_.push_back(connect_to(port));
      readers_.emplace_back();
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, sockets_[i].get(), &event);
      ask(i);
    }
  }

  void ask(std::size_t worker) {
    send_whole(sockets_[worker].get(),
               lease_request(service_name, "worker-" + std::to_string(worker), 1, wait_ms));
  }

  /// Waits until one worker has a job. Returns the worker, and the lease.
  std::pair<std::size_t, std::string> await_lease() {
    for (;;) {
      epoll_event event{};
      if (::epoll_wait(poll_.get(), &event, 1, answer_timeout_ms) != 1) {
        throw std::runtime_error("no worker got the job");
      }
      const std::size_t worker = event.data.u64;
      if (!readers_[worker].fill(sockets_[worker].get())) {
        throw std::runtime_error("celld closed the connection of a waiting worker");
      }
      const auto answer = readers_[worker].next();
      if (!answer) continue;
      const auto leases = leases_of(answer->body);
      if (leases.size() == 1) return {worker, std::string(leases.front())};
      ask(worker);  // Its wait was over.
    }
  }

 private:
  static constexpr std::size_t wait_ms = 60'000;

  const Descriptor poll_;
  std::vector<Descriptor> sockets_;
  std::vector<MessageReader> readers_;
};

double us_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

void measure_waiting(const Daemon& daemon, JobRequests& jobs, const Plan& plan, Report& report) {
  const double before_mb = daemon.resident_mb();
  WaitingWorkers workers{daemon.port(), plan.waiting};
  ApiClient client{daemon.port()};
  Ticker ticker{20};
  std::vector<double> from_post;
  std::vector<double> from_answer;
  for (std::size_t i = 0; i < plan.wake_ups; ++i) {
    ticker.await_tick();
    const auto begin = Clock::now();
    client.ask(202, "POST", "/v1/jobs", jobs.next_body());
    const auto acknowledged = Clock::now();
    const auto [worker, lease] = workers.await_lease();
    const auto leased = Clock::now();
    from_post.push_back(us_between(begin, leased));
    from_answer.push_back(us_between(acknowledged, leased));
    client.ask(200, "POST", "/v1/leases/" + lease + "/complete", "{}");
    workers.ask(worker);
  }
  const std::string who = std::to_string(plan.waiting) + " waiting workers: ";
  report.add(who + "resident memory of celld above that without", "MB",
             daemon.resident_mb() - before_mb);
  report.add(who + "POST until the lease, p50", "us", percentile(from_post, 0.5));
  report.add(who + "POST until the lease, p99", "us", percentile(from_post, 0.99));
  report.add(who + "answer to the POST until the lease, p99", "us", percentile(from_answer, 0.99));
}

void measure(const Plan& plan, const Arguments& arguments, Report& report) {
  const auto config = one_cell_config({{"type", "pull"}}, pool_size);
  const Daemon daemon{arguments.celld, arguments.directory, config};
  JobRequests jobs{service_name};
  measure_waiting(daemon, jobs, plan, report);
  measure_rate(daemon, jobs, plan, 1, "one by one", report);
  measure_rate(daemon, jobs, plan, plan.jobs_at_once, "by " + std::to_string(plan.jobs_at_once),
               report);
}

/// One descriptor for each worker that waits.
void raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  raise_descriptor_limit();
  return run_benchmark(
      argc, argv, "workers outside the daemon",
      [&](CLI::App& app) {
        const auto many = CLI::Range(std::size_t{1}, std::size_t{1'000'000});
        app.add_option("--workers", plan.workers, "workers that lease without waiting")
            ->check(CLI::Range(1, 1'000));
        app.add_option("--jobs", plan.jobs, "jobs for each rate")->check(many);
        app.add_option("--at-once", plan.jobs_at_once, "jobs of one lease request")
            ->check(CLI::Range(2, 1'000));
        app.add_option("--waiting", plan.waiting, "workers that wait")->check(CLI::Range(1, 9'000));
        app.add_option("--wake-ups", plan.wake_ups, "jobs for the waiting workers")->check(many);
      },
      [&](const Arguments& arguments, Report& report) { measure(plan, arguments, report); });
}
