// What one job costs celld in wake-ups, system calls, bytes and allocations. Unlike times, these
// counts hardly differ between machines.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/bench/daemon.hpp"
#include "tests/bench/http_wire.hpp"
#include "tests/bench/load.hpp"
#include "tests/bench/provider_server.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace celld::bench;

/// The allocations of a celld that runs with the shim of this directory.
class Allocations {
 public:
  explicit Allocations(const std::filesystem::path& directory)
      : path_((directory / "celld-allocations-XXXXXX").string()) {
    const Descriptor file{::mkstemp(path_.data())};
    if (file.get() < 0 || ::ftruncate(file.get(), sizeof(Counter)) != 0) {
      throw std::runtime_error("cannot write in " + directory.string());
    }
    void* mapped = ::mmap(nullptr, sizeof(Counter), PROT_READ, MAP_SHARED, file.get(), 0);
    if (mapped == MAP_FAILED) throw std::runtime_error("cannot map " + path_);
    counter_ = static_cast<const Counter*>(mapped);
  }
  ~Allocations() {
    ::munmap(const_cast<Counter*>(counter_), sizeof(Counter));
    ::unlink(path_.c_str());
  }
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;

  std::vector<std::string> variables() const {
    const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return {"LD_PRELOAD=" + (programs / "celld_allocations_shim.so").string(),
            "CELLD_ALLOCATIONS=" + path_};
  }
  double count() const { return static_cast<double>(counter_->load()); }

 private:
  using Counter = std::atomic<std::uint64_t>;
  std::string path_;
  const Counter* counter_ = nullptr;
};

/// Jobs before each measurement. They fill caches and pools and, over one connection, the
/// write-ahead log once. After that, a commit overwrites the log instead of making it longer, and
/// the file system has less to sync.
constexpr std::size_t warm_up_jobs = 2500;

struct Plan {
  std::size_t jobs = 1000;  ///< Measured over one connection; sixteen times as many over several.
  std::vector<std::size_t> connections{1, 16, 64};
  std::size_t idle_jobs = 100;
  std::string limits;
};

/// The least figure of all runs, by name. Other load on the machine can only add to a count, or
/// join more jobs in one commit.
using Figures = std::map<std::string, double>;

class Measurement {
 public:
  Measurement(const Arguments& arguments, const nlohmann::json& service, Report& report,
              Figures& least)
      : allocations_(arguments.directory),
        daemon_(arguments.celld, arguments.directory, one_cell_config(service, 16),
                allocations_.variables()),
        report_(report),
        least_(least) {}

  const Daemon& daemon() const { return daemon_; }

  /// Reports what celld did during `work`, for each of the jobs.
  template <class Work>
  void measure(const std::string& place, std::size_t jobs, const Work& work) {
    const auto before = counts();
    work();
    const auto after = counts();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto name = std::string(names[i].first) + ", " + place;
      const double each = (after[i] - before[i]) / static_cast<double>(jobs);
      report_.add(name, std::string(names[i].second), each);
      const auto [known, is_new] = least_.emplace(name, each);
      if (!is_new) known->second = std::min(known->second, each);
    }
  }

 private:
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> names{{
      {"voluntary switches", "/job"},
      {"writing calls", "/job"},
      {"bytes written", "/job"},
      {"allocations", "/job"},
      {"CPU", "us/job"},
  }};

  std::array<double, names.size()> counts() const {
    return {daemon_.voluntary_switches(), daemon_.writing_calls(), daemon_.bytes_written(),
            allocations_.count(), daemon_.cpu_seconds() * 1e6};
  }

  const Allocations allocations_;
  const Daemon daemon_;
  Report& report_;
  Figures& least_;
};

/// How far a request goes. Each stage adds a cost to that of the stage before: reading, checking
/// and rendering a job; then storing it; then running it.
enum class Stage { live, refused, paused, running };

const char* name_of(Stage stage) {
  switch (stage) {
    case Stage::live:
      return ", GET /livez";
    case Stage::refused:
      return ", refused";
    case Stage::paused:
      return ", paused";
    default:
      return ", running";
  }
}

int status_of(Stage stage) {
  return stage == Stage::live ? 200 : stage == Stage::refused ? 422 : 202;
}

void measure_load(const Plan& plan, const Arguments& arguments, std::size_t connections,
                  Stage stage, Report& report, Figures& least) {
  const nlohmann::json service = {{"type", "simulated"}, {"latency_ms", {{"min", 0}, {"max", 0}}}};
  Measurement measurement{arguments, service, report, least};
  const auto& daemon = measurement.daemon();
  if (stage == Stage::paused) ApiClient{daemon.port()}.ask(200, "POST", pause_path);
  const auto live = request_text("GET", "/livez");
  JobRequests jobs{stage == Stage::refused ? "unknown" : service_name};
  Load load;
  load.port = daemon.port();
  load.connections = connections;
  load.status = status_of(stage);
  load.requests_max = warm_up_jobs;
  const auto next = [&] { return stage == Stage::live ? std::string_view{live} : jobs.next(); };
  const auto run = [&] {
    auto result = run_load(load, next);
    if (stage == Stage::running) daemon.await_all_ended();
    return result;
  };
  run();
  load.requests_max = plan.jobs * (connections > 1 ? 16 : 1);
  const auto place = std::to_string(connections) +
                     (connections > 1 ? " connections" : " connection") + name_of(stage);
  LoadResult result;
  measurement.measure(place, load.requests_max, [&] { result = run(); });
  report.add("p50, " + place, "us", percentile(std::move(result.latencies_us), 0.5));
}

void measure_idle(const Plan& plan, const Arguments& arguments, Report& report, Figures& least) {
  constexpr std::int64_t interval_ms = 20;
  ProviderServer provider{ProviderServer::Mode::answer};
  Measurement measurement{arguments, provider.service(), report, least};
  const Descriptor socket = connect_to(measurement.daemon().port());
  MessageReader reader;
  JobRequests jobs{service_name};
  Ticker ticker{interval_ms};
  const auto submit = [&] {
    send_whole(socket.get(), jobs.next());
    while (!reader.next()) {
      if (!reader.fill(socket.get())) throw std::runtime_error("celld did not answer");
    }
  };
  const auto submit_slowly = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      ticker.await_tick();
      submit();
    }
    ticker.await_tick();  // The last job has ended.
  };
  for (std::size_t i = 0; i < warm_up_jobs; ++i) submit();
  measurement.daemon().await_all_ended();
  submit_slowly(10);
  measurement.measure("idle, a job every 20 ms", plan.idle_jobs,
                      [&] { submit_slowly(plan.idle_jobs); });
}

/// Describes each figure above its limit.
std::vector<std::string> above_limits(const std::string& limits, const Figures& least) {
  const auto document = nlohmann::json::parse(std::ifstream{limits});
  std::vector<std::string> above;
  for (const auto& [name, limit] : document.items()) {
    const auto figure = least.find(name);
    if (figure == least.end()) throw std::runtime_error("no figure is named " + name);
    if (figure->second <= limit.get<double>()) continue;
    std::array<char, 64> values{};
    std::snprintf(values.data(), values.size(), ": %.2f, at most %.2f", figure->second,
                  limit.get<double>());
    above.push_back(name + values.data());
  }
  return above;
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  Figures least;
  const int status = run_benchmark(
      argc, argv, "what a job costs in counts",
      [&](CLI::App& app) {
        app.add_option("--jobs", plan.jobs, "jobs per measurement over one connection");
        app.add_option("--connections", plan.connections,
                       "numbers of connections, measured in turn");
        app.add_option(
            "--limits", plan.limits,
            "a JSON object of limits by name: a figure above its limit in every run is an"
            " error, and no run follows once none is");
      },
      [&](const Arguments& arguments, Report& report) {
        const bool has_run = !least.empty();
        if (has_run && !plan.limits.empty() && above_limits(plan.limits, least).empty()) return;
        for (const auto connections : plan.connections) {
          for (const auto stage : {Stage::live, Stage::refused, Stage::paused, Stage::running}) {
            measure_load(plan, arguments, connections, stage, report, least);
          }
        }
        measure_idle(plan, arguments, report, least);
      });
  try {
    if (status != 0 || plan.limits.empty()) return status;
    const auto above = above_limits(plan.limits, least);
    for (const auto& figure : above) std::printf("above its limit: %s\n", figure.c_str());
    return above.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s: %s\n", argv[0], plan.limits.c_str(), error.what());
    return 1;
  }
}
