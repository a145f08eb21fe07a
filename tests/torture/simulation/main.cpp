// Runs the engine under a virtual clock and a seeded scheduler; see docs/simulation.md.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "tests/torture/simulation/campaign.hpp"
#include "tests/torture/simulation/controls.hpp"
#include "tests/torture/simulation/planted.hpp"

namespace {

constexpr const char* usage = R"(usage: %s [--from SEED] [--count N] [--seconds S] [--workers N]
  [--summary FILE] [--trace] [--find]
  [--only-check CHECK] [--plant BUG]
  [--jobs-max N] [--fault-events-max N] [--cells-max N] [--without FAULT]...
       %s --controls
Runs N seeds (default 100), beginning with SEED (default 0). At the first violation of a promise,
prints it with the trace of the smallest run found that repeats it, and exits with 1.
  --seconds S    begin no seed after S seconds
  --workers N    share the seeds among N processes
  --summary FILE write the results to FILE as JSON
  --trace        print every event
  --find         exit with 0 if there is a violation, and with 1 if there is none
  --only-check CHECK  make no other check
  --plant BUG    show this planted bug, in a program that contains it
  --controls     run each check alone on each planted bug that it must find
The other options bound what a seed does. --without can be given several times. Faults: )";

int print_usage(const char* program) {
  std::fprintf(stderr, usage, program, program);
  for (std::size_t i = 0; i < simulation::fault_count; ++i) {
    const auto name = to_string(static_cast<simulation::Fault>(i));
    std::fprintf(stderr, "%s%.*s", i == 0 ? "" : ", ", static_cast<int>(name.size()), name.data());
  }
  std::fputs(".\n", stderr);
  return 2;
}

bool parse_number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

/// False: not a flag.
bool parse_flag(std::string_view name, simulation::CampaignOptions& options) {
  if (name == "--trace") return options.trace = true;
  if (name == "--find") return options.find = true;
  return false;
}

bool plant(std::string_view name) {
  const auto& bugs = simulation::planted_bugs;
  simulation::planted_bug = name;
  return std::find(bugs.begin(), bugs.end(), name) != bugs.end();
}

bool parse_value(std::string_view name, std::string_view value,
                 simulation::CampaignOptions& options) {
  auto& caps = options.caps;
  if (name == "--plant") return plant(value);
  if (name == "--only-check") return (caps.only = simulation::parse_check(value)).has_value();
  if (name == "--from") return parse_number(value, options.from);
  if (name == "--count") return parse_number(value, options.count);
  if (name == "--workers") {
    return parse_number(value, options.workers) && options.workers > 0 &&
           options.workers <= simulation::workers_max;
  }
  if (name == "--jobs-max") return parse_number(value, caps.jobs_max);
  if (name == "--fault-events-max") return parse_number(value, caps.fault_events_max);
  if (name == "--cells-max") return parse_number(value, caps.cells_max);
  if (name == "--summary") {
    options.summary = value;
    return true;
  }
  if (name == "--without") {
    const auto fault = simulation::parse_fault(value);
    if (fault) caps.without.insert(*fault);
    return fault.has_value();
  }
  std::uint64_t seconds = 0;
  if (name != "--seconds" || !parse_number(value, seconds)) return false;
  options.time = std::chrono::seconds{seconds};
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view{argv[1]} == "--controls") {
    return simulation::run_controls(argv[0]);
  }
  simulation::CampaignOptions options;
  options.program = argv[0];
  for (int i = 1; i < argc; ++i) {
    if (parse_flag(argv[i], options)) continue;
    if (i + 1 == argc || !parse_value(argv[i], argv[i + 1], options)) return print_usage(argv[0]);
    ++i;
  }
  return simulation::run_campaign(options);
}
