// Many jobs in one request: how fast they are accepted, what that costs in memory, and how long
// another client's submission takes meanwhile.
#include <algorithm>
#include <chrono>
#include <future>
#include <vector>

#include "tests/bench/daemon.hpp"
#include "tests/bench/http_wire.hpp"
#include "tests/bench/load.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace celld::bench;

struct Plan {
  std::size_t jobs = 200'000;
};

double us_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

void measure(const Plan& plan, const Arguments& arguments, Report& report) {
  const nlohmann::json provider = {{"type", "simulated"}, {"latency_ms", {{"min", 0}, {"max", 0}}}};
  const Daemon daemon{arguments.celld, arguments.directory, one_cell_config(provider, 1)};
  const double idle_mb = daemon.resident_mb();
  const double cpu = daemon.cpu_seconds();
  ApiClient{daemon.port()}.ask(200, "POST", pause_path);
  auto batch = std::async(std::launch::async, [&] {
    JobRequests jobs{service_name};
    return submit_batch(daemon.port(), jobs, plan.jobs);
  });
  JobRequests single{service_name, 0, 1};
  ApiClient client{daemon.port()};
  Ticker ticker{20};
  std::vector<double> latencies;
  double resident_mb = 0;
  while (batch.wait_for(std::chrono::seconds{0}) != std::future_status::ready) {
    const auto begin = Clock::now();
    client.ask(202, "POST", "/v1/jobs", single.next_body());
    latencies.push_back(us_between(begin, Clock::now()));
    resident_mb = std::max(resident_mb, daemon.resident_mb());
    ticker.await_tick();
  }
  const auto count = static_cast<double>(plan.jobs);
  const double seconds = batch.get();
  report.add("lines accepted", "/s", count / seconds);
  report.add("CPU of celld per line", "us", (daemon.cpu_seconds() - cpu) / count * 1e6);
  report.add("resident memory above idle, at most", "MB", resident_mb - idle_mb);
  report.add("another client's POST meanwhile, p50", "us", percentile(latencies, 0.5));
  report.add("another client's POST meanwhile, p99", "us", percentile(latencies, 0.99));
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  return run_benchmark(
      argc, argv, "many jobs in one request",
      [&](CLI::App& app) {
        app.add_option("--jobs", plan.jobs, "lines of the batch")
            ->check(CLI::Range(std::size_t{1}, std::size_t{10'000'000}));
      },
      [&](const Arguments& arguments, Report& report) { measure(plan, arguments, report); });
}
