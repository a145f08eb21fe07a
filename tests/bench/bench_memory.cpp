// The cost of a backlog in memory, on disk and in submission rate.
#include <algorithm>
#include <string>

#include "tests/bench/daemon.hpp"
#include "tests/bench/load.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace celld::bench;

constexpr std::size_t connections = 64;

struct Plan {
  std::size_t jobs = 100'000;
  std::string durability = "disk";
};

void measure(const Plan& plan, const Arguments& arguments, Report& report) {
  const nlohmann::json provider = {{"type", "simulated"},
                                   {"latency_ms", {{"min", 60'000}, {"max", 60'000}}}};
  const Daemon daemon{arguments.celld, arguments.directory,
                      keep_jobs(one_cell_config(provider, 1), plan.durability)};
  const double idle_mb = daemon.resident_mb();
  const double idle_bytes = daemon.database_bytes();
  JobRequests jobs{service_name};
  const auto submit = [&](std::size_t count) {
    Load load;
    load.port = daemon.port();
    load.connections = connections;
    load.requests_max = count;
    return run_load(load, [&] { return jobs.next(); }).rate();
  };
  const std::size_t part = std::max<std::size_t>(1, plan.jobs / 10);
  const double first_rate = submit(part);
  const double middle_rate = submit(plan.jobs - 2 * part);
  const double last_rate = submit(part);

  const auto count = static_cast<double>(plan.jobs);
  const double queued_mb = daemon.resident_mb();
  report.add("resident, idle", "MB", idle_mb);
  report.add("resident, " + std::to_string(plan.jobs) + " jobs queued", "MB", queued_mb);
  report.add("resident above idle", "MB", queued_mb - idle_mb);
  report.add("resident per job", "B", (queued_mb - idle_mb) * (1 << 20) / count);
  report.add("counted per job in memory", "B", daemon.metric("celld_job_memory_bytes") / count);
  report.add("database and WAL per job", "B", (daemon.database_bytes() - idle_bytes) / count);
  report.add("submissions, first tenth", "/s", first_rate);
  report.add("submissions, middle eight tenths", "/s", middle_rate);
  report.add("submissions, last tenth", "/s", last_rate);
  report.add("last tenth / first tenth", "", last_rate / first_rate);
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  return run_benchmark(
      argc, argv, "the cost of a backlog",
      [&](CLI::App& app) {
        app.add_option("--jobs", plan.jobs, "jobs to queue")
            ->check(CLI::Range(std::size_t{10}, std::size_t{10'000'000}));
        app.add_option("--durability", plan.durability, "how they are kept")
            ->check(CLI::IsMember({"disk", "memory"}));
      },
      [&](const Arguments& arguments, Report& report) { measure(plan, arguments, report); });
}
