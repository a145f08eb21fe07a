#include "tests/torture/simulation/campaign.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <vector>

#include "tests/torture/simulation/planted.hpp"
#include "tests/torture/simulation/run.hpp"
#include "tests/torture/simulation/shrink.hpp"

namespace simulation {
namespace {

constexpr std::uint64_t repeat_every = 100;  ///< Each such seed runs twice, with equal traces.

/// Shared by all workers.
struct Progress {
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> failures{0};
  std::atomic<bool> found{false};  ///< A violation, rather than another failure.
  std::atomic<std::uint64_t> events{0};
  std::atomic<std::uint64_t> jobs{0};
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> crashes{0};
  std::atomic<std::uint64_t> stops{0};
  std::atomic<std::uint64_t> failing_seed{0};  ///< The first one found.
  std::atomic<bool> interrupted{false};
  std::array<std::atomic<std::uint64_t>, workers_max> at{};  ///< The seed of each worker.
};

Progress* progress_to_interrupt = nullptr;

/// On Ctrl-C and SIGTERM, no new seed begins, and the campaign still reports its results.
void interrupt_by_signals(Progress& progress) {
  progress_to_interrupt = &progress;
  struct sigaction action = {};
  action.sa_handler = [](int) { progress_to_interrupt->interrupted = true; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

unsigned long long number(const std::atomic<std::uint64_t>& value) {
  return value.load();
}

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options) : options_(options) {
    void* memory =
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      std::perror("mmap");
      std::abort();
    }
    progress_ = new (memory) Progress;
    interrupt_by_signals(*progress_);
  }

  int run() {
    run_workers();
    const bool broken = progress_->failures > 0;
    if (options_.find) {
      if (!broken) std::printf("no violation found in %llu seeds\n", number(progress_->done));
      return progress_->found ? 0 : 1;
    }
    std::printf(
        "%llu seeds: %llu events, %llu jobs, %llu calls, %llu crashes, %llu stops, %llu "
        "violations\n",
        number(progress_->done), number(progress_->events), number(progress_->jobs),
        number(progress_->calls), number(progress_->crashes), number(progress_->stops),
        number(progress_->failures));
    return write_summary() && !broken ? 0 : 1;
  }

 private:
  /// The workers are processes, so that the seed that crashes one is known.
  void run_workers() {
    std::fflush(stdout);
    std::vector<pid_t> children;
    for (std::uint64_t i = 0; i < options_.workers; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        work(progress_->at[i]);
        std::exit(0);
      }
      if (child < 0) std::perror("fork");
      children.push_back(child);
    }
    for (std::size_t i = 0; i < children.size(); ++i) {
      int status = -1;
      if (children[i] > 0) waitpid(children[i], &status, 0);
      if (status != 0) report_death(progress_->at[i], status);
    }
  }

  /// Takes the next seed until none is left, the time is up, or a worker has found a violation.
  void work(std::atomic<std::uint64_t>& seed) {
    while (progress_->failures == 0 && !progress_->interrupted &&
           (!options_.time || elapsed() < *options_.time)) {
      const std::uint64_t i = progress_->begun++;
      if (i >= options_.count) return;
      seed = options_.from + i;
      run_one(seed);
      progress_->done += 1;
    }
  }

  std::chrono::steady_clock::duration elapsed() const {
    return std::chrono::steady_clock::now() - start_;
  }

  void run_one(std::uint64_t seed) {
    const auto result = run_seed(seed, options_.caps, options_.trace);
    progress_->events += result.events;
    progress_->jobs += result.jobs;
    progress_->calls += result.calls;
    progress_->crashes += result.crashes;
    progress_->stops += result.stops;
    if (options_.trace) print_trace(result);
    if (!result.violations.empty()) {
      if (is_first_failure(seed)) report(seed, result);
    } else if (seed % repeat_every == 0 &&
               run_seed(seed, options_.caps, false).trace_hash != result.trace_hash) {
      if (is_first_failure(seed)) report_difference(seed);
    }
  }

  bool is_first_failure(std::uint64_t seed) {
    if (progress_->failures++ > 0) return false;
    progress_->failing_seed = seed;
    return true;
  }

  // --- Reporting -------------------------------------------------------------------------------

  void report(std::uint64_t seed, const RunResult& result) const {
    const std::string promise = result.broken_promise();
    progress_->found = true;
    if (options_.find) {
      const std::uint64_t seeds = seed - options_.from + 1;
      std::printf("found after %llu seeds: %s\n", static_cast<unsigned long long>(seeds),
                  result.violations.front().c_str());
      return;
    }
    std::printf("seed %llu violates %s\n", static_cast<unsigned long long>(seed),
                result.violations.front().c_str());
    std::fflush(stdout);  // Shrinking takes a while.
    const Caps least = shrink(seed, options_.caps, promise);
    if (!options_.trace) print_trace(run_seed(seed, least, true));
    std::printf("the whole run:   %s\nthis small run:  %s\n", command(seed, options_.caps).c_str(),
                command(seed, least).c_str());
  }

  void report_death(std::uint64_t seed, int status) {
    is_first_failure(seed);
    const bool by_signal = WIFSIGNALED(status);
    std::printf("seed %llu ends its process with %s %d: %s\n",
                static_cast<unsigned long long>(seed), by_signal ? "signal" : "code",
                by_signal ? WTERMSIG(status) : WEXITSTATUS(status),
                command(seed, options_.caps).c_str());
  }

  void report_difference(std::uint64_t seed) const {
    std::printf("seed %llu gave two different traces: %s\n", static_cast<unsigned long long>(seed),
                command(seed, options_.caps).c_str());
  }

  std::string command(std::uint64_t seed, const Caps& caps) const {
    const std::string plant = planted_bug.empty() ? "" : " --plant " + planted_bug;
    return options_.program + plant + " --from " + std::to_string(seed) + " --count 1 --trace" +
           to_arguments(caps);
  }

  static void print_trace(const RunResult& result) {
    for (const auto& line : result.trace) std::printf("%s\n", line.c_str());
  }

  bool write_summary() const {
    if (options_.summary.empty()) return true;
    std::ofstream file{options_.summary};
    file << "{\"units\": " << progress_->done << ", \"failures\": " << progress_->failures
         << ", \"failed\": [";
    if (progress_->failures > 0)
      file << "{\"from\": " << progress_->failing_seed << ", \"count\": 1}";
    file << "], \"figures\": {\"events\": " << progress_->events
         << ", \"jobs\": " << progress_->jobs << ", \"calls\": " << progress_->calls
         << ", \"crashes\": " << progress_->crashes << ", \"stops\": " << progress_->stops
         << "}}\n";
    file.close();
    if (!file) std::fprintf(stderr, "cannot write %s\n", options_.summary.c_str());
    return static_cast<bool>(file);
  }

  const CampaignOptions& options_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Progress* progress_ = nullptr;
};

}  // namespace

int run_campaign(const CampaignOptions& options) {
  return Campaign{options}.run();
}

bool was_interrupted() {
  return progress_to_interrupt != nullptr && progress_to_interrupt->interrupted;
}

}  // namespace simulation
