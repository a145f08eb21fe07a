// The member `capacity`: what all jobs together may use.
#include <algorithm>
#include <string>

#include "src/config/sections.hpp"

namespace celld::config {

Capacity read_capacity(const json::Value& value, Faults& faults) {
  constexpr std::int64_t bytes_min = 1 << 16;
  constexpr std::int64_t bytes_max = std::int64_t{1} << 40;
  constexpr std::int64_t running_max_max = 10'000'000;
  Capacity capacity;
  json::ObjectReader reader(value, "/capacity", faults);
  if (const auto bytes = reader.integer("memory_max_bytes", bytes_min, bytes_max)) {
    capacity.memory_bytes_max = static_cast<std::uint64_t>(*bytes);
  }
  if (const auto jobs = reader.integer("running_max", 1, running_max_max)) {
    capacity.running_max = static_cast<std::uint64_t>(*jobs);
  }
  reader.finish();
  return capacity;
}

void check_capacity(const Config& config, Faults& faults) {
  const bool has_fault = std::any_of(faults.begin(), faults.end(), [](const json::Fault& fault) {
    return fault.pointer.starts_with("/cells") || fault.pointer.starts_with("/defaults");
  });
  if (has_fault || !config.capacity.running_max) return;
  std::uint64_t sizes = 0;
  for (const auto& rule : config.cells) {
    if (!rule.is_template()) sizes += rule.settings.pool_size;
  }
  if (sizes <= *config.capacity.running_max) return;
  faults.push_back({"/capacity/running_max",
                    "must be at least " + std::to_string(sizes) +
                        ", the sum of the pool sizes of all cells that are not templates"});
}

}  // namespace celld::config
