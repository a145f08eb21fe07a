// Durable single submissions, with and without the jobs running, and for comparison requests that
// the same HTTP server answers without the store.
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/daemon.hpp"
#include "tests/bench/load.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace celld::bench;

constexpr std::int64_t an_hour_ms = 3'600'000;

struct Plan {
  std::vector<std::size_t> connections{1, 16, 64};
  double seconds = 3;
  std::uint32_t pool_size = 16;
  bool no_run = false;
  std::vector<std::string> durabilities{"disk"};
};

/// What one load came to, for the comparison of durabilities.
struct Rates {
  double submitted = 0;
  double ended = 0;
  double cpu_us = 0;
};

void add_load(Report& report, const std::string& name, const LoadResult& result) {
  report.add(name, "/s", result.rate());
  report.add(name + ", p50", "us", percentile(result.latencies_us, 0.5));
  report.add(name + ", p99", "us", percentile(result.latencies_us, 0.99));
}

/// GET /livez, and the same submissions for a service that is not configured: celld reads and
/// checks them, and refuses them before it stores anything.
void measure_without_store(const Load& load, const std::string& place, Report& report) {
  const auto live = request_text("GET", "/livez");
  Load livez = load;
  livez.status = 200;
  report.add("GET /livez" + place, "/s",
             run_load(livez, [&] { return std::string_view(live); }).rate());

  JobRequests unknown{"unknown"};
  Load refused = load;
  refused.status = 422;
  const auto result = run_load(refused, [&] { return unknown.next(); });
  report.add("refused POST /v1/jobs" + place, "/s", result.rate());
}

Rates measure_waiting(const Daemon& daemon, const Load& load, const std::string& place,
                      Report& report) {
  JobRequests jobs{service_name, an_hour_ms};
  const double cpu_before = daemon.cpu_seconds();
  const auto result = run_load(load, [&] { return jobs.next(); });
  const double cpu = daemon.cpu_seconds() - cpu_before;
  add_load(report, "submitted, not run" + place, result);
  report.add("CPU of celld per job, not run" + place, "us",
             cpu * 1e6 / static_cast<double>(result.requests));
  return {result.rate(), 0, cpu * 1e6 / static_cast<double>(result.requests)};
}

Rates measure_running(const Daemon& daemon, const Load& load, const std::string& place,
                      Report& report) {
  JobRequests jobs{service_name};
  const double cpu_before = daemon.cpu_seconds();
  const auto result = run_load(load, [&] { return jobs.next(); });
  const double rest_seconds = daemon.await_all_ended();
  const double cpu = daemon.cpu_seconds() - cpu_before;
  const auto count = static_cast<double>(result.requests);
  add_load(report, "submitted and run" + place, result);
  report.add("last answer until all ended" + place, "ms", rest_seconds * 1000);
  report.add("jobs ended" + place, "/s", count / (result.seconds + rest_seconds));
  report.add("CPU of celld per job" + place, "us", cpu * 1e6 / count);
  return {result.rate(), count / (result.seconds + rest_seconds), cpu * 1e6 / count};
}

Rates measure_one(const Plan& plan, const std::string& durability, std::size_t connections,
                  const std::string& place, const Arguments& arguments, Report& report) {
  const nlohmann::json provider = {{"type", "simulated"}, {"latency_ms", {{"min", 0}, {"max", 0}}}};
  const Daemon daemon{arguments.celld, arguments.directory,
                      keep_jobs(one_cell_config(provider, plan.pool_size), durability)};
  Load load;
  load.port = daemon.port();
  load.connections = connections;
  load.duration = std::chrono::microseconds(static_cast<std::int64_t>(plan.seconds * 1e6 / 3));
  if (durability == plan.durabilities.front()) measure_without_store(load, place, report);
  load.duration *= 3;
  return plan.no_run ? measure_waiting(daemon, load, place, report)
                     : measure_running(daemon, load, place, report);
}

void measure(const Plan& plan, const Arguments& arguments, Report& report) {
  for (const auto connections : plan.connections) {
    const auto at = ", " + std::to_string(connections) + " connections";
    std::map<std::string, Rates> rates;
    for (const auto& durability : plan.durabilities) {
      const auto place = plan.durabilities.size() > 1 ? at + ", " + durability : at;
      rates[durability] = measure_one(plan, durability, connections, place, arguments, report);
    }
    if (rates.size() < 2) continue;
    const auto& disk = rates["disk"];
    const auto& memory = rates["memory"];
    report.add("submitted, memory / disk" + at, "", memory.submitted / disk.submitted);
    if (!plan.no_run) report.add("ended, memory / disk" + at, "", memory.ended / disk.ended);
    report.add("CPU per job, memory / disk" + at, "", memory.cpu_us / disk.cpu_us);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  return run_benchmark(
      argc, argv, "durable submission of jobs",
      [&](CLI::App& app) {
        app.add_option("--connections", plan.connections,
                       "numbers of connections, measured in turn");
        app.add_option("--seconds", plan.seconds, "length of each load");
        app.add_option("--pool", plan.pool_size, "workers of the cell");
        app.add_flag("--no-run", plan.no_run,
                     "submit jobs that are due in an hour, to measure insertion alone");
        app.add_option("--durability", plan.durabilities,
                       "how jobs are kept; with both, their figures are compared")
            ->check(CLI::IsMember({"disk", "memory"}));
      },
      [&](const Arguments& arguments, Report& report) { measure(plan, arguments, report); });
}
