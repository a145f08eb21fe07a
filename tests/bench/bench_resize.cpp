// The time from a change of a pool's size until it shows at the provider.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/bench/daemon.hpp"
#include "tests/bench/http_wire.hpp"
#include "tests/bench/load.hpp"
#include "tests/bench/provider_server.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace celld::bench;

struct Plan {
  std::size_t rounds = 50;
  std::size_t size = 1000;
};

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

/// The provider holds every call, so that a pool of n has n calls in flight and a constant backlog.
class Resizing {
 public:
  Resizing(const Plan& plan, const Arguments& arguments)
      : plan_(plan),
        provider_(ProviderServer::Mode::hold),
        daemon_(arguments.celld, arguments.directory, one_cell_config(provider_.service(), 1)),
        client_(daemon_.port()) {
    JobRequests jobs{service_name};
    Load load;
    load.port = daemon_.port();
    load.connections = 16;
    load.requests_max = 3 * plan.rounds + 2 * plan.size + 16;
    run_load(load, [&] { return jobs.next(); });
    provider_.await_call(1);
  }

  /// Repeatedly from one worker to two and back.
  void measure_steps(Report& report) {
    std::vector<double> times_ms;
    for (std::size_t round = 0; round < plan_.rounds; ++round) {
      const auto before = provider_.calls();
      const auto begin = Clock::now();
      resize(2);
      times_ms.push_back(ms_between(begin, provider_.await_call(before + 1)));
      resize(1);
      shed_one();
    }
    report.add("1 -> 2: PUT until the call, p50", "ms", percentile(times_ms, 0.5));
    report.add("1 -> 2: PUT until the call, p99", "ms", percentile(times_ms, 0.99));
  }

  /// From one worker to many at once, and back. When the next call begins, all the held ones have
  /// ended: a pool of one lets no call begin earlier.
  void measure_leap(Report& report) {
    const auto name = std::to_string(plan_.size);
    const auto before = provider_.calls();
    const auto begin = Clock::now();
    resize(plan_.size);
    report.add("1 -> " + name + ": PUT until its answer", "ms", ms_between(begin, Clock::now()));
    const auto last = provider_.await_call(before + plan_.size - 1);
    report.add("1 -> " + name + ": PUT until the last call", "ms", ms_between(begin, last));
    daemon_.await_cell(
        [&](const nlohmann::json& cell) { return cell.at("pool").at("busy") == plan_.size; });

    const auto shrink = Clock::now();
    resize(1);
    report.add(name + " -> 1: PUT until its answer", "ms", ms_between(shrink, Clock::now()));
    const auto calls = provider_.calls();
    const auto answered = provider_.answer(plan_.size);
    provider_.peak();
    const auto next = provider_.await_call(calls + 1);
    report.add(name + " -> 1: last answer until the next call", "ms", ms_between(answered, next));
    report.add(name + " -> 1: calls above the new size", "",
               static_cast<double>(provider_.peak()) - 1);
  }

 private:
  void resize(std::size_t size) {
    client_.ask(202, "PUT", pool_path, nlohmann::json{{"size", size}}.dump());
  }

  /// Either of the two busy workers may be the one that retires: answers calls until it has left.
  void shed_one() {
    provider_.answer(1);
    daemon_.await_cell(
        [](const nlohmann::json& cell) { return cell.at("queue").at("running") == 1; });
    if (client_.ask(200, "GET", cell_path).at("pool").at("retiring") == 0) return;
    const auto before = provider_.calls();
    provider_.answer(1);
    provider_.await_call(before + 1);
    daemon_.await_cell(
        [](const nlohmann::json& cell) { return cell.at("pool").at("retiring") == 0; });
  }

  const Plan& plan_;
  ProviderServer provider_;
  Daemon daemon_;
  ApiClient client_;
};

void measure(const Plan& plan, const Arguments& arguments, Report& report) {
  Resizing resizing{plan, arguments};
  resizing.measure_steps(report);
  resizing.measure_leap(report);
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  return run_benchmark(
      argc, argv, "resizing a pool under a backlog",
      [&](CLI::App& app) {
        app.add_option("--rounds", plan.rounds, "steps from one worker to two and back")
            ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}));
        app.add_option("--size", plan.size, "workers after the leap")
            ->check(CLI::Range(std::size_t{2}, std::size_t{10'000}));
      },
      [&](const Arguments& arguments, Report& report) { measure(plan, arguments, report); });
}
