// celld_simulation [--from SEED] [--seeds N] [--trace]
// Runs the engine under a virtual clock and a seeded scheduler; exits 1 at the first violation.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/simulation/run.hpp"

namespace {

constexpr std::uint64_t repeat_every = 100;  ///< Seeds that are run twice, for the same trace.

struct Arguments {
  std::uint64_t from = 0;
  std::uint64_t seeds = 100;
  bool trace = false;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--trace") {
      arguments.trace = true;
    } else if ((name == "--from" || name == "--seeds") && i + 1 < argc) {
      (name == "--from" ? arguments.from : arguments.seeds) = std::strtoull(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: %s [--from SEED] [--seeds N] [--trace]\n", argv[0]);
      return false;
    }
  }
  return true;
}

void report(const simulation::RunResult& result) {
  for (const auto& line : result.trace) std::printf("%s\n", line.c_str());
  for (const auto& violation : result.violations) {
    std::printf("seed %llu violates %s\n", static_cast<unsigned long long>(result.seed),
                violation.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) return 2;
  std::uint64_t events = 0;
  std::uint64_t calls = 0;
  std::uint64_t jobs = 0;
  std::uint64_t crashes = 0;
  for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
    const std::uint64_t seed = arguments.from + i;
    const auto result = simulation::run_seed(seed, arguments.trace);
    if (arguments.trace) report(result);
    if (!result.violations.empty()) {
      if (!arguments.trace) report(simulation::run_seed(seed, true));
      return 1;
    }
    if (seed % repeat_every == 0 &&
        simulation::run_seed(seed, false).trace_hash != result.trace_hash) {
      std::printf("seed %llu gave two different traces\n", static_cast<unsigned long long>(seed));
      return 1;
    }
    events += result.events;
    calls += result.calls;
    jobs += result.jobs;
    crashes += result.crashes;
  }
  std::printf("%llu seeds: %llu events, %llu jobs, %llu calls, %llu crashes, no violation\n",
              static_cast<unsigned long long>(arguments.seeds),
              static_cast<unsigned long long>(events), static_cast<unsigned long long>(jobs),
              static_cast<unsigned long long>(calls), static_cast<unsigned long long>(crashes));
  return 0;
}
