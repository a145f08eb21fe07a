#include "tests/torture/simulation/controls.hpp"

#include <chrono>
#include <cstdio>

#include "tests/torture/simulation/campaign.hpp"
#include "tests/torture/simulation/planted.hpp"

namespace simulation {
namespace {

constexpr std::uint64_t seeds_max = 6000;

bool finds(const Control& control, const std::string& program) {
  CampaignOptions options;
  options.program = program;
  options.from = control.first_seed;
  options.count = seeds_max;
  options.find = true;
  options.caps.only = parse_check(control.check);
  planted_bug = control.bug;
  if (options.caps.only) return run_campaign(options) == 0;
  std::printf("there is no such check\n");
  return false;
}

}  // namespace

int run_controls(const std::string& program) {
  if (controls.empty()) {
    std::fprintf(stderr, "this program contains no planted bugs\n");
    return 2;
  }
  bool all_found = true;
  for (const Control& control : controls) {
    const auto begun = std::chrono::steady_clock::now();
    const bool found = finds(control, program);
    if (was_interrupted()) return 1;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begun;
    std::printf("%s %.2f s: %s alone finds %s\n", found ? "passed" : "FAILED", elapsed.count(),
                control.check.data(), control.bug.data());
    std::fflush(stdout);
    all_found = all_found && found;
  }
  return all_found ? 0 : 1;
}

}  // namespace simulation
