// What becomes of throughput and latency when a cell is offered more and more, up to ten times what
// it can do: with a provider that answers in 4 ms, the same on a disk whose syncs take 20 ms more,
// and with a provider that takes 100 ms.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <stdlib.h>
#include <unistd.h>

#include "tests/bench/chart.hpp"
#include "tests/bench/daemon.hpp"
#include "tests/bench/http_wire.hpp"
#include "tests/bench/load.hpp"
#include "tests/bench/offered_load.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace celld::bench;

struct Plan {
  std::vector<double> levels{0.25, 0.5, 0.75, 1, 1.5, 2, 4, 10};  ///< Multiples of the capacity.
  double seconds = 3;                                             ///< For each level.
  std::string svg;                                                ///< A file; empty: none.
};

struct Scenario {
  std::string name;
  std::uint32_t workers;
  int call_ms;      ///< How long a provider's call takes.
  int sync_ms = 0;  ///< By how much each sync of the disk is delayed.

  /// What the workers can do, if nothing but the calls takes time.
  double capacity_per_s() const { return workers * 1000.0 / call_ms; }
};

const std::vector<Scenario> scenarios{
    {"fast", 8, 4}, {"slow disk", 8, 4, 20}, {"slow provider", 32, 100}};

/// The delay of syncs, for the disk shim of this directory. The shim watches `root`.
class SlowDisk {
 public:
  SlowDisk(const std::filesystem::path& root, int sync_ms)
      : root_(std::filesystem::canonical(root)), path_("/tmp/celld-bench-sync-XXXXXX") {
    const Descriptor file{::mkstemp(path_.data())};
    std::ofstream{path_} << sync_ms;
  }
  ~SlowDisk() { ::unlink(path_.c_str()); }
  SlowDisk(const SlowDisk&) = delete;
  SlowDisk& operator=(const SlowDisk&) = delete;

  /// The variables with which celld runs on this disk.
  std::vector<std::string> variables() const {
    const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return {"LD_PRELOAD=" + (programs / "celld_disk_shim.so").string(),
            "CELLD_DISK_ROOT=" + root_.string(), "CELLD_DISK_SYNC_MS=" + path_};
  }

 private:
  std::filesystem::path root_;
  std::string path_;
};

/// A client that submits one job at a time, waits for its end, and ignores refusals.
class Prober {
 public:
  explicit Prober(std::uint16_t port)
      : port_(port), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  /// The times from the submission of accepted jobs until they had ended.
  std::vector<double> stop() {
    thread_.request_stop();
    thread_.join();
    return std::move(lives_ms_);
  }

 private:
  void run(const std::stop_token& stop) {
    JobRequests jobs{service_name, 0, 2};
    const Descriptor socket = connect_to(port_);
    MessageReader reader;
    Ticker ticker{20};
    while (!stop.stop_requested()) {
      std::string request{jobs.next()};
      request.insert(request.find("\r\n") + 2, "Prefer: wait=60\r\n");
      const auto begin = Clock::now();
      send_whole(socket.get(), request);
      auto answer = reader.next();
      while (!answer && reader.fill(socket.get())) answer = reader.next();
      if (!answer) return;
      const std::chrono::duration<double, std::milli> life = Clock::now() - begin;
      if (answer->status() == 200) lives_ms_.push_back(life.count());
      ticker.await_tick();
    }
  }

  std::uint16_t port_;
  std::vector<double> lives_ms_;
  std::jthread thread_;  // The last member: it uses the others.
};

struct Level {
  double offered = 0;  ///< As a multiple of the capacity, like `ended`.
  double ended = 0;
  double refused_part = 0;
  double answer_p99_ms = 0;
  double life_p50_ms = 0;
  double life_p99_ms = 0;
};

class Pressure {
 public:
  Pressure(const Scenario& scenario, const Plan& plan, const Arguments& arguments)
      : scenario_(scenario),
        plan_(plan),
        disk_(arguments.directory, scenario.sync_ms),
        daemon_(arguments.celld, arguments.directory, config(scenario),
                scenario.sync_ms > 0 ? disk_.variables() : std::vector<std::string>{}),
        client_(daemon_.port()) {}

  std::vector<Level> run() {
    std::vector<Level> levels;
    offer(plan_.levels.front());  // Not counted: pages, connections and caches are cold.
    for (const double level : plan_.levels) levels.push_back(offer(level));
    return levels;
  }

 private:
  static nlohmann::json config(const Scenario& scenario) {
    const nlohmann::json provider = {
        {"type", "simulated"},
        {"latency_ms", {{"min", scenario.call_ms}, {"max", scenario.call_ms}}}};
    auto config = one_cell_config(provider, scenario.workers);
    config["defaults"]["queue"]["max_jobs"] = static_cast<int>(scenario.capacity_per_s());
    return config;
  }

  Level offer(double multiple) {
    OfferedLoad load;
    load.port = daemon_.port();
    load.per_s = multiple * scenario_.capacity_per_s();
    load.duration = std::chrono::milliseconds{static_cast<std::int64_t>(plan_.seconds * 1000)};
    const double before = unfinished();
    const auto begin = Clock::now();
    Prober prober{daemon_.port()};
    const auto result = run_offered_load(load, [&] { return jobs_.next(); });
    const auto lives_ms = prober.stop();
    const std::chrono::duration<double> passed = Clock::now() - begin;
    const auto accepted = static_cast<double>(result.accepted + lives_ms.size());
    const auto refused = static_cast<double>(result.refused);
    Level level;
    level.offered = multiple;
    level.ended = (before + accepted - unfinished()) / passed.count() / scenario_.capacity_per_s();
    level.refused_part = refused / (accepted + refused);
    level.answer_p99_ms = percentile(result.latencies_us, 0.99) / 1000;
    level.life_p50_ms = percentile(lives_ms, 0.5);
    level.life_p99_ms = percentile(lives_ms, 0.99);
    return level;
  }

  double unfinished() {
    const auto queue = client_.ask(200, "GET", cell_path).at("queue");
    double jobs = 0;
    for (const char* state : {"queued", "retrying", "running"})
      jobs += queue.at(state).get<double>();
    return jobs;
  }

  const Scenario& scenario_;
  const Plan& plan_;
  SlowDisk disk_;
  Daemon daemon_;
  ApiClient client_;
  JobRequests jobs_{service_name};
};

void report_levels(const Scenario& scenario, const std::vector<Level>& levels, Report& report) {
  double most = 0;
  for (const auto& level : levels) most = std::max(most, level.ended);
  const auto& last = levels.back();
  std::array<char, 32> times;
  std::snprintf(times.data(), times.size(), "%g", last.offered);
  const auto name = scenario.name + ", ";
  const auto at_last = name + times.data() + "x offered: ";
  report.add(name + "jobs ended, at most", "/s", most * scenario.capacity_per_s());
  report.add(at_last + "ended, of the most", "", last.ended / most);
  report.add(at_last + "refused, of all", "", last.refused_part);
  report.add(at_last + "202, p99", "ms", last.answer_p99_ms);
  report.add(at_last + "job, p50", "ms", last.life_p50_ms);
  report.add(at_last + "job, p99", "ms", last.life_p99_ms);
}

Line line_of(const Scenario& scenario, const std::vector<Level>& levels, double Level::* member) {
  Line line{scenario.name, {}};
  for (const auto& level : levels) line.points.emplace_back(level.offered, level.*member);
  return line;
}

void measure(const Plan& plan, const Arguments& arguments, Report& report) {
  Panel ended{"jobs ended per second, as a multiple of the workers' capacity", 1, {}};
  Panel answers{"from due until 202, of accepted jobs, p99, ms", 10, {}};
  Panel lives{"from POST until the end, of accepted jobs, p50, ms", 1000, {}};
  for (const auto& scenario : scenarios) {
    const auto levels = Pressure{scenario, plan, arguments}.run();
    report_levels(scenario, levels, report);
    ended.lines.push_back(line_of(scenario, levels, &Level::ended));
    answers.lines.push_back(line_of(scenario, levels, &Level::answer_p99_ms));
    lives.lines.push_back(line_of(scenario, levels, &Level::life_p50_ms));
  }
  if (plan.svg.empty()) return;
  std::ofstream file{plan.svg};
  file << chart("offered load, as a multiple of the workers' capacity", {ended, answers, lives});
  if (!file.flush()) throw std::runtime_error("cannot write " + plan.svg);
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  return run_benchmark(
      argc, argv, "a cell under pressure",
      [&](CLI::App& app) {
        app.add_option("--levels", plan.levels, "offered loads, as multiples of the capacity")
            ->check(CLI::Range(0.01, 100.0));
        app.add_option("--seconds", plan.seconds, "length of each load")
            ->check(CLI::Range(0.1, 600.0));
        app.add_option("--svg", plan.svg, "a file for a chart of the last run");
      },
      [&](const Arguments& arguments, Report& report) { measure(plan, arguments, report); });
}
