// The latency of an idle daemon, from a job's submission to the call at its provider.
#include <chrono>
#include <stdexcept>
#include <vector>

#include "tests/bench/daemon.hpp"
#include "tests/bench/http_wire.hpp"
#include "tests/bench/load.hpp"
#include "tests/bench/provider_server.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace celld::bench;

struct Plan {
  std::int64_t interval_ms = 20;
  std::size_t jobs = 500;
};

double us_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

void measure(const Plan& plan, const Arguments& arguments, Report& report) {
  ProviderServer provider{ProviderServer::Mode::answer};
  const Daemon daemon{arguments.celld, arguments.directory,
                      one_cell_config(provider.service(), 16)};
  const Descriptor socket = connect_to(daemon.port());
  MessageReader reader;
  JobRequests jobs{service_name};
  Ticker ticker{plan.interval_ms};
  std::vector<double> calls_us;
  std::vector<double> answers_us;
  for (std::size_t i = 0; i < plan.jobs; ++i) {
    ticker.await_tick();
    const auto begin = Clock::now();
    send_whole(socket.get(), jobs.next());
    while (!reader.next()) {
      if (!reader.fill(socket.get())) throw std::runtime_error("celld did not answer");
    }
    answers_us.push_back(us_between(begin, Clock::now()));
    calls_us.push_back(us_between(begin, provider.await_call(i + 1)));
  }
  report.add("POST until the provider's call, p50", "us", percentile(calls_us, 0.5));
  report.add("POST until the provider's call, p99", "us", percentile(calls_us, 0.99));
  report.add("POST until its answer, p50", "us", percentile(answers_us, 0.5));
  report.add("POST until its answer, p99", "us", percentile(answers_us, 0.99));
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  return run_benchmark(
      argc, argv, "latency of an idle daemon",
      [&](CLI::App& app) {
        app.add_option("--interval-ms", plan.interval_ms, "interval between jobs")
            ->check(CLI::Range(std::int64_t{1}, std::int64_t{60'000}));
        app.add_option("--jobs", plan.jobs, "jobs per run")
            ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}));
      },
      [&](const Arguments& arguments, Report& report) { measure(plan, arguments, report); });
}
