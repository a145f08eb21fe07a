#include "tests/torture/simulation/faults.hpp"

#include <array>

namespace simulation {
namespace {

constexpr std::array<std::string_view, fault_count> names = {"crash",
                                                             "store-error",
                                                             "store-delay",
                                                             "kill-dispatcher",
                                                             "kill-pool",
                                                             "kill-worker",
                                                             "kill-provider",
                                                             "kill-cell",
                                                             "clock-jump",
                                                             "shutdown",
                                                             "cell-state",
                                                             "resize",
                                                             "reload",
                                                             "cancel",
                                                             "reopen",
                                                             "provider-failure",
                                                             "provider-garbage",
                                                             "provider-hang",
                                                             "slow-abort",
                                                             "starvation",
                                                             "outside",
                                                             "silent-worker",
                                                             "stale-report",
                                                             "batches",
                                                             "broken-batch",
                                                             "protected",
                                                             "compensation",
                                                             "schedules",
                                                             "sharing",
                                                             "quotas"};

}  // namespace

std::string_view to_string(Fault fault) {
  return names[static_cast<std::size_t>(fault)];
}

std::optional<Fault> parse_fault(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Fault>(i);
  }
  return std::nullopt;
}

std::string to_arguments(const Caps& caps) {
  const Caps unbounded;
  std::string text;
  const auto bound = [&](const char* name, std::uint64_t value, std::uint64_t none) {
    if (value != none) text += std::string(name) + std::to_string(value);
  };
  bound(" --jobs-max ", caps.jobs_max, unbounded.jobs_max);
  bound(" --fault-events-max ", caps.fault_events_max, unbounded.fault_events_max);
  bound(" --cells-max ", caps.cells_max, unbounded.cells_max);
  for (const Fault fault : caps.without) text += " --without " + std::string(to_string(fault));
  if (caps.only) text += " --only-check " + std::string(to_string(*caps.only));
  return text;
}

}  // namespace simulation
